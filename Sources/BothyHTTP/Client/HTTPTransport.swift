public import BothySync
public import HTTPTypes

/// The interface to a network stack, which sends one request and returns one response.
///
/// It serves `BothyRemote` and, through `HTTPLoader`, a cache. It follows no redirects, and keeps neither
/// responses nor cookies. Every method may be called from any task and stops soon after its task is cancelled.
/// A status is never an error here. A missing response is a `RemoteError` of the class `.unreachable`. Its code
/// is `cancelled` for a cancelled task and `timeout` or `silent` after the time limit.
public protocol HTTPTransport: Sendable {
  /// Sends a request and reads the whole response into memory.
  ///
  /// - Throws: `RemoteError` of the class `unreachable` without a response. The class is `rejected` for an
  ///   address that isn't a URL, and for a response that is larger than the transport accepts.
  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse

  /// Sends a request and returns when the head of the response is there. The body follows in pieces.
  ///
  /// The request's timeout does not apply. A transport has its own for connecting. The connection is in use
  /// until the body has ended or is released.
  ///
  /// - Throws: `RemoteError` of the class `unreachable` if no head comes.
  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream
}

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

/// A response whose body is still arriving.
///
/// The connection stays in use until the body has ended or is released. Release it to stop a response that
/// isn't needed.
public struct TransportStream: Sendable {
  /// The status code. It is known before the body, so a refusal needs no reading.
  public var status: Int
  /// The fields of the response's head. They still name a compression that the transport undoes.
  public var headers: HTTPFields
  /// The pieces of the body in order, of any size, for one reader.
  ///
  /// It ends with the response. Throws `RemoteError` of the class `unreachable` if the connection is lost. In a
  /// cancelled task it may end early without an error.
  public var body: AsyncThrowingStream<[UInt8], any Error>
  /// True if the connection carries several requests at a time.
  package var isMultiplexed = false
  /// The content codings that the transport undoes. `headers` still names the coding that was undone.
  package var undoneCodings: Set<String> = []

  /// Creates a stream in a transport, which must close the connection when `body` is released
  /// (`onTermination`).
  ///
  /// - Parameter body: the pieces without compression, in order. It throws `RemoteError` if the connection is
  ///   lost.
  public init(status: Int, headers: HTTPFields, body: AsyncThrowingStream<[UInt8], any Error>) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

extension RemoteError {
  static let cancelled = RemoteError(.unreachable, "The request was cancelled.", code: "cancelled")
  static let timedOut = RemoteError(.unreachable, "No answer came in time.", code: "timeout")
  static let badAddress = RemoteError(
    .rejected, "The server's address isn't a URL.", code: "badAddress")

  static func noAnswer(_ reason: String) -> RemoteError {
    RemoteError(.unreachable, "No answer came: \(reason)", code: "network")
  }

  static func brokeOff(_ reason: String) -> RemoteError {
    RemoteError(.unreachable, "The answer broke off: \(reason)", code: "network")
  }

  static func tooLarge(_ limit: Int) -> RemoteError {
    RemoteError(
      .rejected, "The answer is larger than the \(limit) bytes this device takes.", code: "answerTooLarge")
  }
}
