package import Foundation
import HTTPTypes
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
    self.fields.add(name: "Cache-Status", value: "bothy; " + cacheStatus)
    self.body = body
  }

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
    var fields = fields
    let isOld = request.version.isOld
    // After a request to change the protocol nothing more is read of the connection.
    let changes = request.method == .CONNECT || request.headers.contains(name: "upgrade")
    var closes = isLast || changes || !request.isKeepAlive
    switch body {
    case .none: break
    case .whole(let bytes): fields.add(name: "Content-Length", value: String(bytes.count))
    case .pieces where fields.contains(name: "content-length"): break
    case .pieces: if isOld { closes = true } else { fields.add(name: "Transfer-Encoding", value: "chunked") }
    }
    if closes, !isOld { fields.add(name: "Connection", value: "close") }
    if !closes, isOld { fields.add(name: "Connection", value: "keep-alive") }
    return (
      HTTPResponseHead(version: request.version, status: .init(statusCode: status), headers: fields), closes
    )
  }
}

extension HTTPVersion {
  /// Before HTTP/1.1: no chunks, and a connection that closes unless both sides want to keep it.
  var isOld: Bool { (major, minor) < (1, 1) }
}
