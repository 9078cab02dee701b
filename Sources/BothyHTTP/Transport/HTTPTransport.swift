public import BothySync
public import HTTPTypes

/// The seam to a network stack: sends one request, brings back one answer.
///
/// Every method may be called from any task and stops soon after its task is cancelled. A status is never an
/// error here; no answer at all is `RemoteError` of the class `.unreachable`.
public protocol HTTPTransport: Sendable {
  /// Sends a request and reads the whole answer. Throws also when the answer is larger than the transport takes.
  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse

  /// Sends a request and returns as soon as the head of the answer is there; the body follows piece by piece.
  /// The request's timeout does not apply; a transport has one of its own for connecting.
  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream
}

/// One request, complete.
public struct TransportRequest: Sendable, Hashable {
  /// What is done at the address.
  public var method: HTTPRequest.Method
  /// The whole address, percent-encoded, the query included.
  public var url: String
  /// The caller's fields, its authorization included; a transport adds what HTTP itself needs.
  public var headers: HTTPFields
  /// The bytes as they are sent; empty for no body.
  public var body: [UInt8]
  /// How long `send` waits for the answer; `open` takes no notice of it.
  public var timeout: Duration
  /// Whether the server may get it twice without doing anything twice: what asks and changes nothing, what sets a
  /// state, and operations, which have ids.
  public var isRepeatable: Bool

  /// - Parameters:
  ///   - timeout: One minute unless told otherwise.
  ///   - isRepeatable: Nil goes by the method: all but POST and PATCH may be sent twice.
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

/// One answer, complete and uncompressed.
public struct TransportResponse: Sendable, Hashable {
  /// The status code, whatever it is: 404 and 503 are answers too.
  public var status: Int
  /// The fields of the answer's head.
  public var headers: HTTPFields
  /// All bytes, with compression undone; empty where there is no body.
  public var body: [UInt8]

  /// What a transport makes of an answer, and a test in place of one.
  public init(status: Int, headers: HTTPFields = [:], body: [UInt8] = []) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

/// An answer whose body is still coming.
public struct TransportStream: Sendable {
  /// The status code, whatever it is.
  public var status: Int
  /// The fields of the answer's head.
  public var headers: HTTPFields
  /// Ends with the answer; throws `RemoteError` when the connection is lost.
  public var body: AsyncThrowingStream<[UInt8], any Error>

  /// For transports: the connection is to be given up when `body` is no longer read (`onTermination`).
  public init(status: Int, headers: HTTPFields, body: AsyncThrowingStream<[UInt8], any Error>) {
    self.status = status
    self.headers = headers
    self.body = body
  }
}

extension RemoteError {
  static let cancelled = RemoteError(.unreachable, "The request was cancelled.", code: "cancelled")

  static func tooLarge(_ limit: Int) -> RemoteError {
    RemoteError(
      .rejected, "The answer is larger than the \(limit) bytes this device takes.", code: "answerTooLarge")
  }
}
