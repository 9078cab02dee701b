import BothyCore
package import BothySync
import Foundation
import HTTPTypes

/// A transport that sends unencrypted requests only to this machine, unless that is allowed.
///
/// It waits for a busy server as `RetryAfterPolicy` allows.
package struct GuardedTransport: HTTPTransport {
  let transport: any HTTPTransport
  let patience: RetryAfterPolicy
  let allowsHTTP: Bool

  package init(transport: any HTTPTransport, patience: RetryAfterPolicy, allowsHTTP: Bool) {
    self.transport = transport
    self.patience = patience
    self.allowsHTTP = allowsHTTP
  }

  package func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
    try check(request)
    var response = try await transport.send(request)
    for _ in 0..<max(0, patience.retries) {
      guard request.isRepeatable, let wait = Self.wait(response), wait <= patience.longestWait else { break }
      do { try await patience.clock.sleep(for: wait) } catch { throw .cancelled }
      response = try await transport.send(request)
    }
    return response
  }

  package func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
    try check(request)
    return try await transport.open(request)
  }

  private func check(_ request: TransportRequest) throws(RemoteError) {
    guard !allowsHTTP, !Self.isConfidential(request.url), request.url.lowercased().hasPrefix("http:") else {
      return
    }
    throw RemoteError(
      .rejected,
      "The server's address begins with http:, so anyone on the network could read the token and the data. "
        + "Use https:, or allow http: on purpose.", code: "insecureAddress")
  }

  /// Returns the pause that the response requests before a repetition, or `nil`.
  private static func wait(_ response: TransportResponse) -> Duration? {
    guard response.status == 503 || response.status == 429 else { return nil }
    return RetryAfter.seconds(response.headers).map { .seconds($0) }
  }

  /// True if the connection can't be read on the way, because it uses TLS or stays on this machine.
  static func isConfidential(_ address: String) -> Bool {
    guard let parts = URLComponents(string: address), let host = parts.host?.lowercased() else {
      return false
    }
    if parts.scheme?.lowercased() == "https" { return true }
    let isIPv4Loopback =
      host.hasPrefix("127.") && host.split(separator: ".").count == 4
      && host.allSatisfy { $0.isNumber || $0 == "." }
    return host == "localhost" || host.hasSuffix(".localhost") || host == "::1" || host == "[::1]"
      || isIPv4Loopback
  }
}
