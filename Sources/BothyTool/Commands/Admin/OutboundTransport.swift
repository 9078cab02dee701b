import BothyHTTP
import BothyServer
import BothyStore
import HTTPTypes

/// The requests of webhooks, of traces and of blobs on S3. Redirects aren't followed, so they reach the configured
/// address alone.
struct OutboundTransport: Sendable {
  private let transport: any HTTPTransport

  /// - Parameters:
  ///   - compression: false if responses may not be compressed.
  ///   - bodyLimit: the most bytes of a response. A longer one counts as a failure.
  ///   - connections: the most connections to a server.
  init(compression: Bool = true, bodyLimit: Int = 1 << 20, connections: Int = 8) {
    transport = RemoteConnection.makeTransport(
      compression: compression, bodyLimit: bodyLimit, connections: connections)
  }

  /// Sends a request once. Throws `RemoteError` without a response.
  func send(_ request: OutboundRequest) async throws -> OutboundResponse {
    let response = try await transport.send(
      TransportRequest(
        request.method, request.url, headers: HTTPFields(request.headers), body: request.body,
        timeout: request.timeout))
    let wait = response.headers[.retryAfter].flatMap {
      RetryAfter.milliseconds($0, date: response.headers[.date], now: nil)
    }
    let headers = response.headers.map { ($0.name.canonicalName, $0.value) }
    return OutboundResponse(
      status: response.status, retryAfter: wait.map { .milliseconds($0) },
      headers: Dictionary(headers, uniquingKeysWith: { first, _ in first }), body: response.body)
  }
}
