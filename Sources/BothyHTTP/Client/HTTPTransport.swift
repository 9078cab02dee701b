public import BothySync

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
