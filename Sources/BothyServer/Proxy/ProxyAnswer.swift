package import Foundation
import HTTPTypes
import NIOCore
package import NIOHTTP1

/// One answer of the proxy, not yet framed for a connection.
package struct ProxyAnswer: Sendable {
  package enum Body: Sendable {
    /// None by the nature of the answer; its fields may speak of one all the same.
    case none
    case whole(Data)
    /// Ends with the answer; throws when the origin breaks off.
    case pieces(AsyncThrowingStream<Data, any Error>)
  }

  package var status: Int
  /// None of the connection; a length only of a body that comes in pieces, or that HEAD tells of.
  package var fields: HTTPHeaders
  package var body: Body

  /// - Parameter cacheStatus: what the cache had to do with it (RFC 9211).
  init(status: Int, fields: HTTPHeaders, cacheStatus: String, body: Body) {
    self.status = status
    self.fields = fields
    self.fields.add(name: "Cache-Status", value: Self.cache + cacheStatus)
    self.body = body
  }

  /// What the cache had to do with an answer that was fresh in it.
  static let hit = "hit"
  /// What stands before it.
  static let cache = "bothy; "

  /// An answer of the proxy's own: why there is no other.
  static func problem(_ status: Int, _ sentence: String, _ cacheStatus: String) -> ProxyAnswer {
    ProxyAnswer(
      status: status,
      fields: ["Content-Type": "text/plain; charset=utf-8", "Cache-Control": "no-store"],
      cacheStatus: cacheStatus, body: .whole(Data((sentence + "\n").utf8)))
  }

  /// The head that goes out to who sent the request, and whether the connection ends with the answer (RFC 9112 §6, §9).
  ///
  /// - Parameter isLast: whether it ends for another reason than what the request and the answer say.
  func framed(for request: HTTPRequestHead, isLast: Bool) -> (head: HTTPResponseHead, closes: Bool) {
    framed(in: request.version, isLast: isLast || !request.goesOn)
  }

  /// - Parameter isLast: whether the connection ends for another reason than what the answer says.
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
  /// Its bytes, without the empty line at their end.
  func write(into buffer: inout ByteBuffer) {
    buffer.writeString("HTTP/\(version.major).\(version.minor) \(status.code) \(status.reasonPhrase)\r\n")
    for (name, value) in headers { buffer.writeString("\(name): \(value)\r\n") }
  }
}

extension HTTPRequestHead {
  /// Whether the connection may go on after the answer. After a request to change the protocol nothing more is read.
  var goesOn: Bool { isKeepAlive && method != .CONNECT && !headers.contains(name: "upgrade") }
}

extension HTTPVersion {
  /// Before HTTP/1.1: no chunks, and a connection that closes unless both sides want to keep it.
  var isOld: Bool { (major, minor) < (1, 1) }
}
