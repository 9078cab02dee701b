/// A request to another server, ready to send with `POST`: a delivery of a webhook or a batch of spans.
public struct OutboundRequest: Sendable, Hashable {
  /// The address.
  public var url: String
  /// The fields by their names.
  public var headers: [String: String]
  /// The JSON document.
  public var body: [UInt8]
  /// The longest time for the response.
  public var timeout: Duration
}

/// The response of another server.
public struct OutboundResponse: Sendable, Hashable {
  /// The status code.
  public var status: Int
  /// The wait that the server requests by `Retry-After`, or `nil`.
  public var retryAfter: Duration?

  /// Creates a response.
  public init(status: Int, retryAfter: Duration? = nil) {
    self.status = status
    self.retryAfter = retryAfter
  }
}
