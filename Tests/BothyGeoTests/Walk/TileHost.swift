import Foundation
import Synchronization

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// An HTTP server on a local port that serves documents by path, with entity tags, and logs requests.
final class TileHost: Sendable {
  struct Request: Sendable {
    var method: String
    var path: String
    /// The value of If-None-Match, or `nil` without that field.
    var condition: String?
    var status: Int
  }

  let port: UInt16
  private let listener: Int32
  private let documents: [String: Data]
  private let log = Mutex<[Request]>([])

  struct NoSocket: Error {}

  init(_ documents: [String: Data]) throws {
    self.documents = documents
    #if canImport(Glibc)
      let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let listener = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(listener, address, size) == 0 && listen(listener, 64) == 0
          && getsockname(listener, address, &size) == 0
      }
    }
    guard isListening else { throw NoSocket() }
    self.listener = listener
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [weak self] in
      while true {
        let connection = accept(listener, nil, nil)
        guard connection >= 0 else { return }
        #if canImport(Darwin)
          // A client that has disconnected must end the response, not the process.
          var isOn: Int32 = 1
          setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
        #endif
        Thread.detachNewThread { [weak self] in
          self?.serve(connection)
          close(connection)
        }
      }
    }
  }

  deinit {
    shutdown(listener, Int32(SHUT_RDWR))
    close(listener)
  }

  /// Returns the requests since the last call.
  func takeRequests() -> [Request] {
    log.withLock { log in
      defer { log = [] }
      return log
    }
  }

  private func serve(_ connection: Int32) {
    var received = Data()
    while let head = Self.head(&received, connection) {
      let lines = head.split(separator: "\r\n")
      let words = (lines.first ?? "").split(separator: " ")
      guard words.count == 3 else { return }
      let condition = lines.first { $0.lowercased().hasPrefix("if-none-match:") }
        .map { $0.drop { $0 != ":" }.dropFirst().trimmingCharacters(in: .whitespaces) }
      let document = documents[String(words[1])]
      let tag = document.map { "\"\($0.count)-\($0.reduce(UInt32(7)) { $0 &* 31 &+ UInt32($1) })\"" }
      let status = document == nil ? 404 : condition == tag ? 304 : 200
      log.withLock {
        $0.append(
          Request(
            method: String(words[0]), path: String(words[1]), condition: condition, status: status))
      }
      let body = status == 200 ? document ?? Data() : Data()
      var answer = "HTTP/1.1 \(status) Answer\r\ncontent-type: application/json\r\n"
      if let tag { answer += "etag: \(tag)\r\n" }
      if status != 304 { answer += "content-length: \(body.count)\r\n" }
      guard Self.send(Data((answer + "\r\n").utf8) + body, connection) else { return }
    }
  }

  /// Returns the head of the next request, or `nil` at the end.
  private static func head(_ received: inout Data, _ connection: Int32) -> String? {
    let end = Data("\r\n\r\n".utf8)
    while true {
      if let found = received.firstRange(of: end) {
        let head = String(decoding: received[..<found.lowerBound], as: UTF8.self)
        received = Data(received[found.upperBound...])
        return head
      }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(connection, &bytes, bytes.count, 0)
      guard count > 0 else { return nil }
      received += bytes.prefix(count)
    }
  }

  private static func send(_ data: Data, _ connection: Int32) -> Bool {
    #if canImport(Glibc)
      let flags = Int32(MSG_NOSIGNAL)
      let write = Glibc.send
    #else
      let flags: Int32 = 0
      let write = Darwin.send
    #endif
    let bytes = [UInt8](data)
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { write(connection, $0.baseAddress, $0.count, flags) }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }
}
