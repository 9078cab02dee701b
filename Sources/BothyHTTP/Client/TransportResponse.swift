public import HTTPTypes

/// One complete, uncompressed response. The whole body is in memory.
public struct TransportResponse: Sendable, Hashable {
  /// The status code. 404 and 503 are responses too, and so is a redirect.
  public var status: Int
  /// The fields of the response's head, found by name in any case. `Content-Encoding` may still name the
  /// compression that was undone.
  public var headers: HTTPFields
  /// All bytes without compression, or empty for a response without a body. `BothyRemote` decodes it as JSON.
  public var body: [UInt8]

  /// Creates a response, in a transport or in a test.
  ///
  /// - Parameters:
  ///   - headers: A `Retry-After` is honored with the statuses 429 and 503.
  ///   - body: the bytes without compression.
  public init(status: Int, headers: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}
