import Foundation

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Sends bytes to a port of this machine and reads until the connection ends.
enum LoopbackClient {
  struct NoConnection: Error {}

  /// Returns all that came. The bytes must make the listener end the connection. Waits on a thread of its own, as the
  /// listener's answers need the tasks' threads.
  static func send(_ text: String, to port: Int, at address: UInt32 = 0x7F00_0001) async throws -> String {
    try await withCheckedThrowingContinuation { caller in
      Thread { caller.resume(with: Result { try exchange(text, port, address) }) }.start()
    }
  }

  /// Sends bytes and closes the connection without waiting for an answer.
  static func leave(_ text: String, to port: Int) throws {
    let connection = try connect(port, 0x7F00_0001)
    write(text, connection)
    close(connection)
  }

  private static func write(_ text: String, _ connection: Int32) {
    let bytes = Array(text.utf8)
    #if canImport(Glibc)
      _ = bytes.withUnsafeBytes { Glibc.send(connection, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    #else
      _ = bytes.withUnsafeBytes { Darwin.send(connection, $0.baseAddress, $0.count, 0) }
    #endif
  }

  private static func exchange(_ text: String, _ port: Int, _ address: UInt32) throws -> String {
    let connection = try connect(port, address)
    defer { close(connection) }
    write(text, connection)
    var received: [UInt8] = []
    var part = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(connection, &part, part.count, 0)
      guard count > 0 else { return String(decoding: received, as: UTF8.self) }
      received += part.prefix(count)
    }
  }

  private static func connect(_ port: Int, _ host: UInt32) throws -> Int32 {
    #if canImport(Glibc)
      let connection = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    #else
      let connection = socket(AF_INET, SOCK_STREAM, 0)
    #endif
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = UInt16(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = host.bigEndian
    let size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { systemConnect(connection, $0, size) }
    }
    guard status == 0 else {
      close(connection)
      throw NoConnection()
    }
    return connection
  }

  private static func systemConnect(
    _ connection: Int32, _ address: UnsafePointer<sockaddr>, _ size: socklen_t
  ) -> Int32 {
    #if canImport(Glibc)
      Glibc.connect(connection, address, size)
    #else
      Darwin.connect(connection, address, size)
    #endif
  }
}
