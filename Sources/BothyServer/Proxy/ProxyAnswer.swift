package import Foundation
import HTTPTypes
import NIOCore
package import NIOHTTP1

/// One response of the proxy, not yet framed for a connection.
package struct ProxyAnswer: Sendable {
  package enum Body: Sendable {
    /// A response that has no body by its nature, even if its fields describe one.
    case none
    case whole(Data)
    /// A body in pieces. The stream ends with the response, and throws if the origin breaks off.
    case pieces(AsyncThrowingStream<Data, any Error>)
  }

  package var status: Int
  /// The fields of the response, without those of the connection. A length is included only for a body in pieces, or if
  /// the response is to HEAD.
  package var fields: HTTPHeaders
  package var body: Body

  /// - Parameter cacheStatus: how the cache handled the request (RFC 9211).
  init(status: Int, fields: HTTPHeaders, cacheStatus: String, body: Body) {
    self.status = status
    self.fields = fields
    self.fields.add(name: "Cache-Status", value: Self.cache + cacheStatus)
    self.body = body
  }

  /// The cache status of a response that was fresh in the cache.
  static let hit = "hit"
  /// The prefix of the cache status.
  static let cache = "bothy; "

  /// Returns a response of the proxy's own, with the reason why it has no other.
  static func problem(_ status: Int, _ sentence: String, _ cacheStatus: String) -> ProxyAnswer {
    ProxyAnswer(
      status: status,
      fields: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
      cacheStatus: cacheStatus, body: .whole(Data((sentence + "\n").utf8)))
  }

  /// Returns the head to send, and true if the connection ends with the response (RFC 9112 §6, §9).
  ///
  /// - Parameter isLast: true if the connection ends for another reason than the request and the response.
  func framed(for request: HTTPRequestHead, isLast: Bool) -> (head: HTTPResponseHead, closes: Bool) {
    framed(in: request.version, isLast: isLast || !request.goesOn)
  }

  /// - Parameter isLast: true if the connection ends for another reason than the response.
  func framed(in version: HTTPVersion, isLast: Bool) -> (head: HTTPResponseHead, closes: Bool) {
    var fields = fields
    let isOld = version.isOld
    var closes = isLast
    switch body {
    case .none: break
    case .whole(let bytes): fields.add(name: "Content-Length", value: String(bytes.count))
    case .pieces where fields.contains(name: "content-length"): break
    case .pieces: if isOld { closes = true } else { fields.add(name: "Transfer-Encoding", value: "chunked") }
    }
    if closes, !isOld { fields.add(name: "Connection", value: "close") }
    if !closes, isOld { fields.add(name: "Connection", value: "keep-alive") }
    return (
      HTTPResponseHead(version: version, status: .init(statusCode: status), headers: fields), closes
    )
  }
}

extension HTTPResponseHead {
  /// Writes the head without the empty line at its end.
  func write(into buffer: inout ByteBuffer) {
    buffer.writeString("HTTP/\(version.major).\(version.minor) \(status.code) \(status.reasonPhrase)\r\n")
    for (name, value) in headers { buffer.writeString("\(name): \(value)\r\n") }
  }
}

extension HTTPRequestHead {
  /// True if the connection may continue after the response. After a request to change the protocol nothing more is
  /// read.
  var goesOn: Bool { isKeepAlive && method != .CONNECT && !headers.contains(name: "upgrade") }
}

extension HTTPVersion {
  /// True before HTTP/1.1. Such versions have no chunks, and close the connection unless both sides want to keep it.
  var isOld: Bool { (major, minor) < (1, 1) }
}
