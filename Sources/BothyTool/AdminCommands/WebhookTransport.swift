import BothyHTTP
import BothyServer
import BothyStore
import HTTPTypes

/// The requests of webhooks. Redirects aren't followed, so a delivery reaches the configured address alone.
struct WebhookTransport: Sendable {
  /// A longer response counts as a failure.
  private let transport = RemoteConnection.makeTransport(bodyLimit: 1 << 20)

  /// Sends a delivery once. Throws `RemoteError` without a response.
  func send(_ request: WebhookRequest) async throws -> WebhookResponse {
    let response = try await transport.send(
      TransportRequest(
        .post, request.url, headers: HTTPFields(request.headers), body: request.body, timeout: request.timeout
      ))
    let wait = response.headers[.retryAfter].flatMap {
      RetryAfter.milliseconds($0, date: response.headers[.date], now: nil)
    }
    return WebhookResponse(status: response.status, retryAfter: wait.map { .milliseconds($0) })
  }
}
