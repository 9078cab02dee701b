import BothyHTTP
import BothyServer
import BothyStore
import BothySync
import HTTPTypes

/// Sends all requests of a server to others, by the HTTP client. Redirects aren't followed, so that they reach the
/// configured address alone.
struct OutboundTransport: Sendable {
  private let transport: any HTTPTransport

  /// - Parameters:
  ///   - compression: false if responses may not be compressed.
  ///   - bodyLimit: the most bytes of a response.
  ///   - connections: the most connections to a server.
  init(compression: Bool = true, bodyLimit: Int = 1 << 20, connections: Int = 8) {
    transport = SystemTransport(compression: compression, bodyLimit: bodyLimit, connections: connections)
  }

  /// Sends a request once. Throws `RemoteError` without a response, and `TooLarge` for one beyond the limit.
  func send(_ request: OutboundRequest) async throws -> OutboundResponse {
    var fields = HTTPFields()
    for (name, value) in request.headers {
      if let name = HTTPField.Name(name) { fields[name] = value }
    }
    let response: TransportResponse
    do {
      response = try await transport.send(
        TransportRequest(
          request.method, request.url, headers: fields, body: request.body, timeout: request.timeout))
    } catch {
      guard error.code != "answerTooLarge" else { throw OutboundResponse.TooLarge() }
      throw error
    }
    let wait = response.headers[.retryAfter].flatMap {
      RetryAfter.milliseconds($0, date: response.headers[.date], now: nil)
    }
    let headers = response.headers.map { ($0.name.canonicalName, $0.value) }
    return OutboundResponse(
      status: response.status, retryAfter: wait.map { .milliseconds($0) },
      headers: Dictionary(headers, uniquingKeysWith: { first, _ in first }), body: response.body)
  }
}
