import BothyStore
import Foundation
package import HTTPTypes

/// One parsed request.
package struct InspectorCall: Sendable {
  var method: HTTPRequest.Method
  var path: String
  var query: [String: String]
  var headers: HTTPFields
  /// The host and port, as the caller wrote them.
  var host: String?
  /// Reads the body. It is called only for admitted callers.
  var body: @Sendable () async throws -> [UInt8]

  /// - Parameter target: the path and query as they were sent.
  package init(
    _ method: HTTPRequest.Method = .get, _ target: String, headers: HTTPFields = [:], host: String? = nil,
    body: @escaping @Sendable () async throws -> [UInt8] = { [] }
  ) {
    self.method = method
    self.headers = headers
    self.host = host
    self.body = body
    let parts = target.split(separator: "?", maxSplits: 1, omittingEmptySubsequences: false)
    // A badly encoded path isn't a page's address.
    path = parts.first.map { String($0).removingPercentEncoding ?? String($0) } ?? "/"
    var query: [String: String] = [:]
    for item in parts.count > 1 ? parts[1].split(separator: "&") : [] {
      let pair = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
        .map { $0.replacing("+", with: " ").removingPercentEncoding ?? "" }
      query[pair[0]] = pair.count > 1 ? pair[1] : ""
    }
    self.query = query
  }

  func cookie(_ name: String) -> String? {
    for field in headers[values: .cookie] {
      for item in field.split(separator: ";") {
        let pair = item.drop { $0 == " " }.split(separator: "=", maxSplits: 1)
        if pair.count == 2, pair[0] == name { return String(pair[1]) }
      }
    }
    return nil
  }

  /// Returns a parameter that isn't empty, or `nil`.
  func given(_ name: String) -> String? { query[name].flatMap { $0.isEmpty ? nil : $0 } }

  /// Returns a parameter. Throws `HTTPFailure` if it is missing.
  func required(_ name: String) throws(HTTPFailure) -> String {
    guard let value = given(name) else {
      throw HTTPFailure(.badRequest, "missing", "The request lacks '\(name)'. Reload the page.")
    }
    return value
  }

  /// Returns a whole number between 1 and `most`, or `otherwise` if it is missing.
  func count(_ name: String, otherwise: Int, most: Int) -> Int {
    min(max(query[name].flatMap(Int.init) ?? otherwise, 1), most)
  }

  /// Returns the members of a body that is a JSON object.
  func members() async throws -> [String: JSONValue] {
    let bytes = try await body()
    do { if let members = try JSONValue(parsing: bytes).objectValue { return members } } catch {
      throw HTTPFailure(.badRequest, "malformed", "The request is not JSON: \(error)")
    }
    throw HTTPFailure(.badRequest, "malformed", "The request isn't a JSON object. Reload the page.")
  }
}
