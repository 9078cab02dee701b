import BothyHTTP
import BothyServer
import BothySync
import HTTPTypes

/// The request of a key set from an identity provider, with ten seconds for the response.
struct KeySetRequest: Sendable {
  private static let limit = 1 << 20
  private let transport = RemoteConnection.makeTransport()

  /// Throws `BothyError` without a response, for another status than 200, and for a response over a megabyte.
  func send(_ url: String) async throws -> JWTKeyAddress.Response {
    let request = TransportRequest(.get, url, headers: [.accept: "application/json"], timeout: .seconds(10))
    let response: TransportResponse
    do { response = try await transport.send(request) } catch {
      throw BothyError(.unreachable, "The keys at \(url) can't be requested. \(error.message)")
    }
    guard response.status == 200, response.body.count <= Self.limit else {
      throw BothyError(
        .serverError, "\(url) answered with the status \(response.status) and \(response.body.count) bytes.")
    }
    return JWTKeyAddress.Response(body: response.body, freshFor: Self.age(response.headers[.cacheControl]))
  }

  /// Returns the `max-age` of a field.
  private static func age(_ field: String?) -> Duration? {
    let parts = field?.lowercased().split(separator: ",").map { $0.filter { !$0.isWhitespace } } ?? []
    return parts.first { $0.hasPrefix("max-age=") }.flatMap { Int64($0.dropFirst(8)) }.map { .seconds($0) }
  }
}
