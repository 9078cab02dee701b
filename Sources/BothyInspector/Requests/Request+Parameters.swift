import BothyStore
import Hummingbird
import HummingbirdCore
import NIOCore

/// The parameters and the JSON of a request.
extension Request {
  /// The parameters of the query. A plus sign is a space, as in forms.
  var parameters: Parameters { URI("/?" + (uri.query ?? "").replacing("+", with: "%20")).queryParameters }

  /// Returns a parameter that isn't empty, or `nil`.
  func given(_ name: String) -> String? { parameters.get(name).flatMap { $0.isEmpty ? nil : $0 } }

  /// Returns a parameter. Throws `HTTPFailure` if it is missing.
  func required(_ name: String) throws(HTTPFailure) -> String {
    guard let value = given(name) else {
      throw HTTPFailure(.badRequest, "missing", "The request lacks '\(name)'. Reload the page.")
    }
    return value
  }

  /// Returns a count, at least 1 and at most `most`.
  func count(_ name: String, otherwise: Int, most: Int) -> Int {
    min(max(given(name).flatMap(Int.init) ?? otherwise, 1), most)
  }

  /// Returns the members of a body that is a JSON object.
  func members() async throws -> [String: JSONValue] {
    let bytes = Array(try await body.collect(upTo: .max).readableBytesView)
    do { if let members = try JSONValue(parsing: bytes).objectValue { return members } } catch {
      throw HTTPFailure(.badRequest, "malformed", "The request is not JSON: \(error)")
    }
    throw HTTPFailure(.badRequest, "malformed", "The request isn't a JSON object. Reload the page.")
  }
}
