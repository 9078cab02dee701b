import HTTPTypes

/// A quick check that a server is running.
public enum ServerHealth {
  /// Returns true if `GET /healthz` succeeds within `timeout`. Costs one request and never throws.
  public static func check(
    url: String, transport: any HTTPTransport, timeout: Duration = .seconds(2)
  ) async -> Bool {
    let root = url.hasSuffix("/") ? String(url.dropLast()) : url
    do {
      let response = try await transport.send(TransportRequest(.get, root + "/healthz", timeout: timeout))
      return (200..<300).contains(response.status)
    } catch {
      return false  // a missing response means false
    }
  }
}
