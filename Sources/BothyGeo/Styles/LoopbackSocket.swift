import Foundation

#if canImport(Darwin)
  import Darwin
#elseif canImport(Musl)
  import Musl
#else
  import Glibc
#endif

/// The calls of the system that a listener on 127.0.0.1 needs, where platforms differ.
enum LoopbackSocket {
  /// Opens a socket, or returns a negative number.
  static func open() -> Int32 {
    #if canImport(Glibc)
      socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
    #else
      socket(AF_INET, SOCK_STREAM, 0)
    #endif
  }

  /// Makes a socket listen on 127.0.0.1, and on no other address. Returns its port, or `nil`.
  static func listen(_ socket: Int32, port: UInt16) -> UInt16? {
    var isOn: Int32 = 1
    // A port that was used a minute ago can be used again, and one in use can't.
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
        bind(socket, address, size) == 0 && systemListen(socket, 64) == 0
          && getsockname(socket, address, &size) == 0
      }
    }
    return isListening ? UInt16(bigEndian: address.sin_port) : nil
  }

  private static func systemListen(_ socket: Int32, _ count: Int32) -> Int32 {
    #if canImport(Darwin)
      Darwin.listen(socket, count)
    #elseif canImport(Musl)
      Musl.listen(socket, count)
    #else
      Glibc.listen(socket, count)
    #endif
  }

  /// Sets how long a connection waits for bytes and for its reader.
  static func setTimes(_ connection: Int32, seconds: Int) {
    var time = timeval()
    time.tv_sec = .init(seconds)
    let size = socklen_t(MemoryLayout<timeval>.size)
    setsockopt(connection, SOL_SOCKET, SO_RCVTIMEO, &time, size)
    setsockopt(connection, SOL_SOCKET, SO_SNDTIMEO, &time, size)
    #if canImport(Darwin)
      // A reader that has gone must end the connection, not the process.
      var isOn: Int32 = 1
      setsockopt(connection, SOL_SOCKET, SO_NOSIGPIPE, &isOn, socklen_t(MemoryLayout<Int32>.size))
    #endif
  }

  /// Returns the head of the next request without its last empty line, or `nil` at the end or for a longer one.
  static func head(_ received: inout [UInt8], _ connection: Int32) -> [UInt8]? {
    let end = Array("\r\n\r\n".utf8)
    var searched = 0
    while true {
      if let place = received[searched...].firstRange(of: end) {
        defer { received.removeFirst(place.upperBound) }
        return Array(received[..<place.lowerBound])
      }
      searched = max(0, received.count - 3)
      guard received.count <= LoopbackRequest.longestHead else { return nil }
      var bytes = [UInt8](repeating: 0, count: 4096)
      let count = recv(connection, &bytes, bytes.count, 0)
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return nil }
      received += bytes.prefix(count)
    }
  }

  /// Returns true if the reader has closed the connection. Doesn't wait, and leaves bytes that came.
  static func hasEnded(_ connection: Int32) -> Bool {
    var byte: UInt8 = 0
    let count = recv(connection, &byte, 1, Int32(MSG_PEEK) | Int32(MSG_DONTWAIT))
    return count == 0 || count < 0 && errno != EAGAIN && errno != EWOULDBLOCK && errno != EINTR
  }

  /// Sends all bytes. Returns false if the reader has gone.
  static func send(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    var sent = 0
    while sent < bytes.count {
      let count = bytes[sent...].withUnsafeBytes { systemSend(connection, $0) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { return false }
      sent += count
    }
    return true
  }

  private static func systemSend(_ connection: Int32, _ bytes: UnsafeRawBufferPointer) -> Int {
    #if canImport(Darwin)
      Darwin.send(connection, bytes.baseAddress, bytes.count, 0)
    #elseif canImport(Musl)
      Musl.send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #else
      Glibc.send(connection, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    #endif
  }
}
