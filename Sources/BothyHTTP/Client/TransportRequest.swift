public import HTTPTypes

/// One complete request, as a value. A transport may send it any number of times.
public struct TransportRequest: Sendable, Hashable {
  /// The method of the request.
  public var method: HTTPRequest.Method
  /// The whole address with its query, percent-encoded. It is checked when the request is sent.
  public var url: String
  /// The caller's fields with its authorization. A transport adds the fields that HTTP itself needs, such as
  /// the length of the body. Log no value of them, since a token is among them.
  public var headers: HTTPFields
  /// The bytes to send, or empty for a request without a body. They are in memory as a whole.
  public var body: [UInt8]
  /// The longest time that `send` waits for the head of the response, and then for the next piece of its body.
  ///
  /// So a long response that keeps arriving may take longer as a whole. `open` ignores it.
  public var timeout: Duration
  /// True if a repetition has no further effect on the server.
  ///
  /// That applies to requests that only read, that set a state, or that contain operations with ids.
  /// `BothyRemote` repeats only such requests for a busy server.
  public var isRepeatable: Bool

  /// Creates a request. Nothing is sent or checked yet.
  ///
  /// - Parameters:
  ///   - timeout: One minute by default.
  ///   - isRepeatable: `nil` decides by the method: all except POST and PATCH are repeatable.
  public init(
    _ method: HTTPRequest.Method, _ url: String, headers: HTTPFields = [:], body: [UInt8] = [],
    timeout: Duration = .seconds(60), isRepeatable: Bool? = nil
  ) {
    self.isRepeatable = isRepeatable ?? (method != .post && method != .patch)
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.timeout = timeout
  }
}
