/// The response of another server.
public struct OutboundResponse: Sendable, Hashable {
  /// The status code.
  public var status: Int
  /// The wait that the server requests by `Retry-After`, or `nil`.
  public var retryAfter: Duration?
  /// The fields by their names in lower case.
  public var headers: [String: String]
  /// The bytes of the body.
  public var body: [UInt8]

  /// Creates a response.
  public init(
    status: Int, retryAfter: Duration? = nil, headers: [String: String] = [:], body: [UInt8] = []
  ) {
    self.status = status
    self.retryAfter = retryAfter
    self.headers = headers
    self.body = body
  }
}
