import BothyHTTP
import BothyServer
import BothyStore
import HTTPTypes

/// The requests of webhooks and of traces. Redirects aren't followed, so they reach the configured address alone.
struct OutboundTransport: Sendable {
  /// A longer response counts as a failure.
  private let transport = RemoteConnection.makeTransport(bodyLimit: 1 << 20)

  /// Sends a request once. Throws `RemoteError` without a response.
  func send(_ request: OutboundRequest) async throws -> OutboundResponse {
    let response = try await transport.send(
      TransportRequest(
        .post, request.url, headers: HTTPFields(request.headers), body: request.body, timeout: request.timeout
      ))
    let wait = response.headers[.retryAfter].flatMap {
      RetryAfter.milliseconds($0, date: response.headers[.date], now: nil)
    }
    return OutboundResponse(status: response.status, retryAfter: wait.map { .milliseconds($0) })
  }
}
