/// The response of another server.
public struct OutboundResponse: Sendable, Hashable {
  /// The error of a response that is larger than its sender reads.
  public struct TooLarge: Error, Sendable, Hashable, CustomStringConvertible {
    /// Makes the error, for the function that sends requests.
    public init() {}

    /// A sentence for people. It names no size, because the sender alone knows it.
    public var description: String { "The response is too large." }
  }

  /// The status code.
  public var status: Int
  /// The wait that the server requests by `Retry-After`, or `nil`.
  public var retryAfter: Duration?
  /// The fields by their names in lower case.
  public var headers: [String: String]
  /// The bytes of the body, uncompressed.
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
