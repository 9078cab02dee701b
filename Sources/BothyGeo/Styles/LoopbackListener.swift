import BothyCore
import Dispatch
import Foundation
import HTTPTypes
import Synchronization

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// Listens for HTTP/1.1 on 127.0.0.1, for one app's own renderer.
///
/// It knows GET and HEAD, and refuses all else that HTTP allows: bodies, codings, other versions, long heads. Each
/// connection has a thread, as its calls block. There are few.
final class LoopbackListener: Sendable {
  private struct State {
    var connections: Set<Int32> = []
    var isStopped = false
    /// False once the accepting thread has closed the socket. Its number may then be another file's.
    var isOpen = true
  }

  /// The state for the listener and for its accepting thread, which may outlive it.
  private final class Shared: Sendable {
    let state = Mutex(State())
  }

  /// The port.
  let port: UInt16
  private let listener: Int32
  private let shared = Shared()
  private let answer: @Sendable (LoopbackRequest) async -> MapAnswer

  /// The most connections at a time. A further one is closed at once.
  private static let mostConnections = 64
  /// The longest time that a connection waits for a request or for its reader, in seconds.
  private static let patience = 30

  /// Begins to listen. Throws `BothyError` `unavailable` if the port is in use.
  init(port: UInt16, answer: @escaping @Sendable (LoopbackRequest) async -> MapAnswer) throws(BothyError) {
    self.answer = answer
    let socket = LoopbackSocket.open()
    guard socket >= 0, let bound = LoopbackSocket.listen(socket, port: port) else {
      if socket >= 0 { close(socket) }
      throw BothyError(
        .unavailable, "Port \(port) of 127.0.0.1 can't be listened on. Choose another one, or 0 for any.")
    }
    listener = socket
    self.port = bound
    Thread.detachNewThread { [weak self, shared] in
      defer {
        shared.state.withLock { state in
          state.isOpen = false
          close(socket)
        }
      }
      while true {
        let connection = accept(socket, nil, nil)
        if connection < 0 {
          if errno == EINTR || errno == ECONNABORTED { continue }
          guard errno == EMFILE || errno == ENFILE else { return }
          // Files of this process are closed sooner or later.
          Thread.sleep(forTimeInterval: 0.05)
          continue
        }
        guard let self, self.admit(connection) else {
          close(connection)
          continue
        }
        Thread.detachNewThread { self.serve(connection) }
      }
    }
  }

  deinit { stop() }

  /// Stops listening, and ends all connections.
  func stop() {
    shared.state.withLock { state in
      guard !state.isStopped else { return }
      state.isStopped = true
      // A connection closes itself, under this lock. So none of these numbers is another file by now.
      for connection in state.connections { shutdown(connection, Int32(SHUT_RDWR)) }
      guard state.isOpen else { return }
      shutdown(listener, Int32(SHUT_RDWR))
      Self.vacate(listener)
    }
  }

  /// Closes a listening socket, whose number an empty file has until the accepting thread closes that.
  ///
  /// The number of a socket that is closed can be the next listener's, whose connections the thread then accepts.
  private static func vacate(_ socket: Int32) {
    let nothing = open("/dev/null", O_RDONLY | O_CLOEXEC)
    // Without a free number of a file, the thread closes the socket itself.
    guard nothing >= 0 else { return }
    dup2(nothing, socket)
    close(nothing)
  }

  private func admit(_ connection: Int32) -> Bool {
    LoopbackSocket.setTimes(connection, seconds: Self.patience)
    return shared.state.withLock { state in
      guard !state.isStopped, state.connections.count < Self.mostConnections else { return false }
      state.connections.insert(connection)
      return true
    }
  }

  private func serve(_ connection: Int32) {
    defer {
      shared.state.withLock { state in
        state.connections.remove(connection)
        close(connection)
      }
    }
    var received: [UInt8] = []
    while let head = LoopbackSocket.head(&received, connection) {
      let (reply, ends) = reply(to: head, on: connection)
      guard LoopbackSocket.send(reply, connection), !ends else { return }
    }
  }

  /// The milliseconds after which a connection whose reply isn't there is looked at.
  private static let look = 100

  /// Returns the bytes of the reply to a head, and true if the connection ends with it.
  ///
  /// A renderer leaves tiles that it no longer shows. Their reads are cancelled, as the places of their connections are
  /// needed.
  private func reply(to head: [UInt8], on connection: Int32) -> (bytes: [UInt8], ends: Bool) {
    let request: LoopbackRequest
    do throws(LoopbackRequest.Refusal) { request = try LoopbackRequest(head, port: port) } catch {
      return (Self.bytes(MapAnswer(error.status), isHead: false, ends: true), true)
    }
    let (box, done) = (AnswerBox(), DispatchSemaphore(value: 0))
    let task = Task { [self] in
      let made = await self.answer(request)
      box.answer.withLock { $0 = made }
      done.signal()
    }
    // This thread is the connection's own, none of the pool that tasks run on.
    while done.wait(timeout: .now() + .milliseconds(Self.look)) == .timedOut {
      if LoopbackSocket.hasEnded(connection) { task.cancel() }
    }
    let made = box.answer.withLock { $0 }
    return (Self.bytes(made, isHead: request.isHead, ends: request.ends), request.ends)
  }

  private final class AnswerBox: Sendable {
    let answer = Mutex(MapAnswer(.internalServerError))
  }

  private static func bytes(_ answer: MapAnswer, isHead: Bool, ends: Bool) -> [UInt8] {
    var text = "HTTP/1.1 \(answer.status.code) \(answer.status.reasonPhrase)\r\n"
    for field in answer.fields { text += "\(field.name.rawName): \(field.value)\r\n" }
    // These have neither a body nor its length (RFC 9110 8.6).
    let isBare = answer.status == .notModified || answer.status == .noContent
    if !isBare { text += "Content-Length: \(answer.body.count)\r\n" }
    text += ends ? "Connection: close\r\n\r\n" : "\r\n"
    return Array(text.utf8) + (isHead || isBare ? [] : Array(answer.body))
  }
}
