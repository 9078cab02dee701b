public import HTTPTypes

/// A request of the server to another one. Redirects are not to be followed.
///
/// It delivers a webhook or spans, asks the team's back end, requests a key set, or is about a blob.
public struct OutboundRequest: Sendable, Hashable {
  /// The method.
  public var method: HTTPRequest.Method
  /// The address, percent-encoded.
  public var url: String
  /// The fields by their names.
  public var headers: [String: String]
  /// The bytes to send.
  public var body: [UInt8]
  /// The longest time for the response.
  public var timeout: Duration

  /// Creates a request, by default with `POST`.
  init(
    _ method: HTTPRequest.Method = .post, url: String, headers: [String: String], body: [UInt8] = [],
    timeout: Duration
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}
