import HTTPTypes

extension BothyRemote {
  /// A quick check that a server is running. It needs no token and no space.
  ///
  /// ```swift
  /// let isUp = await BothyRemote.Health.check(url: "https://bothy.example.org", transport: .system)
  /// ```
  public enum Health {
    /// Returns true if `GET /healthz` succeeds within `timeout`. Costs one request and never throws.
    ///
    /// False for any status but 2xx, for a redirect, for an address that isn't a URL and in a cancelled task. A
    /// true answer doesn't mean that a token or a space is accepted.
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
}
