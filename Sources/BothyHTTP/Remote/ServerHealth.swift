import HTTPTypes

/// A quick look at whether a server is there.
public enum ServerHealth {
  /// Whether `GET /healthz` is answered with success within `timeout`. One round trip; never throws.
  public static func check(
    url: String, transport: any HTTPTransport, timeout: Duration = .seconds(2)
  ) async -> Bool {
    let root = url.hasSuffix("/") ? String(url.dropLast()) : url
    do {
      let response = try await transport.send(TransportRequest(.get, root + "/healthz", timeout: timeout))
      return (200..<300).contains(response.status)
    } catch {
      return false  // no answer is the answer
    }
  }
}
