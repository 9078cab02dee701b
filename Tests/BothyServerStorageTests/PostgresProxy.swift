import Foundation
import Synchronization

/// A proxy on a loopback port in front of PostgreSQL, which refuses LISTEN or passes nothing on.
final class PostgresProxy: @unchecked Sendable {
  struct Failed: Error {}

  /// The address for clients.
  let address: String
  private let listener: Int32
  private let target: sockaddr_in
  private let refusesListen: Bool
  /// Guards the flags. Signaled when they change.
  private let condition = NSCondition()
  private var isStalled = false
  private var isClosed = false

  /// Listens in front of the server of `address`, a URL with a host in digits and a port.
  init(to address: String, refusesListen: Bool = false) throws {
    guard var components = URLComponents(string: address), let port = components.port else { throw Failed() }
    let listener = Self.socket()
    guard Self.with(Self.loopback(0), { bind(listener, $0, $1) }) == 0, listen(listener, 64) == 0 else {
      throw Failed()
    }
    var own = sockaddr_in()
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let named = withUnsafeMutablePointer(to: &own) { own in
      own.withMemoryRebound(to: sockaddr.self, capacity: 1) { getsockname(listener, $0, &length) }
    }
    guard named == 0 else { throw Failed() }
    components.port = Int(UInt16(bigEndian: own.sin_port))
    self.address = components.string ?? ""
    self.listener = listener
    self.refusesListen = refusesListen
    target = Self.loopback(UInt16(port))
    Thread.detachNewThread { [self] in accept() }
  }

  /// Stops passing bytes on, and keeps the connections open.
  func stall() { change { isStalled = true } }

  /// Passes everything on again.
  func resume() { change { isStalled = false } }

  /// Ends the listener. Its connections end with their clients.
  func close() {
    change { (isStalled, isClosed) = (false, true) }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func change(_ body: () -> Void) {
    condition.lock()
    body()
    condition.broadcast()
    condition.unlock()
  }

  private func waitWhileStalled() {
    condition.lock()
    while isStalled { condition.wait() }
    condition.unlock()
  }

  private func accept() {
    while true {
      #if canImport(Glibc)
        let client = Glibc.accept(listener, nil, nil)
      #else
        let client = Darwin.accept(listener, nil, nil)
      #endif
      guard client >= 0 else { return }
      Thread.detachNewThread { [self] in
        let server = Self.socket()
        guard Self.with(target, { connect(server, $0, $1) }) == 0 else {
          shutdown(client, Int32(SHUT_RDWR))
          return
        }
        Thread.detachNewThread { [self] in pass(from: server, to: client, isRequest: false) }
        pass(from: client, to: server, isRequest: true)
      }
    }
  }

  private func pass(from source: Int32, to sink: Int32, isRequest: Bool) {
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = read(source, &buffer, buffer.count)
      guard count > 0 else { break }
      waitWhileStalled()
      var bytes = Array(buffer.prefix(count))
      if isRequest, refusesListen { bytes.spoil("LISTEN ") }
      var sent = 0
      while sent < bytes.count {
        let written = bytes.withUnsafeBytes { rest in
          send(sink, rest.baseAddress.map { $0 + sent }, bytes.count - sent, Self.noSignal)
        }
        guard written > 0 else { break }
        sent += written
      }
    }
    shutdown(sink, Int32(SHUT_RDWR))
  }

  #if canImport(Glibc)
    private static let noSignal = Int32(MSG_NOSIGNAL)
    private static func socket() -> Int32 { Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0) }
  #else
    private static let noSignal: Int32 = 0
    private static func socket() -> Int32 { Darwin.socket(AF_INET, SOCK_STREAM, 0) }
  #endif

  private static func loopback(_ port: UInt16) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = inet_addr("127.0.0.1")
    return address
  }

  private static func with(
    _ address: sockaddr_in, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
  ) -> Int32 {
    withUnsafePointer(to: address) { address in
      address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        body($0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
  }
}

extension [UInt8] {
  /// Makes a word of SQL one that no database knows, of the same length.
  fileprivate mutating func spoil(_ word: String) {
    let word = Array(word.utf8)
    guard count >= word.count else { return }
    for start in 0...count - word.count where self[start..<start + word.count].elementsEqual(word) {
      self[start] = UInt8(ascii: "X")
    }
  }
}
