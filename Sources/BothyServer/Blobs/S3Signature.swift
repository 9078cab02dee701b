import Crypto
import Foundation
package import HTTPTypes

/// Signs requests to S3 by Signature Version 4. Pure.
package enum S3Signature {
  /// The SHA-256 of no bytes, for requests without a body.
  package static let emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

  /// The parts of a request that its signature covers.
  package struct Request: Sendable {
    package var method: HTTPRequest.Method
    /// The path of the address, percent-encoded once.
    package var path: String
    /// The names and values of the query, not encoded.
    package var query: [(name: String, value: String)]
    /// The signed fields by their names in lower case, with `host`, `x-amz-date` and `x-amz-content-sha256`.
    package var headers: [String: String]

    package init(
      method: HTTPRequest.Method, path: String, query: [(name: String, value: String)],
      headers: [String: String]
    ) {
      self.method = method
      self.path = path
      self.query = query
      self.headers = headers
    }
  }

  /// Returns the value of the field `Authorization`.
  package static func authorization(
    _ request: Request, _ credentials: S3Credentials, region: String
  ) -> String {
    let time = request.headers["x-amz-date"] ?? ""
    let (date, names) = (String(time.prefix(8)), request.headers.keys.sorted())
    let fields = names.map { "\($0):\(trimmed(request.headers[$0] ?? ""))\n" }.joined()
    let signed = names.joined(separator: ";")
    let canonical = [
      request.method.rawValue, request.path, queryText(request.query), fields, signed,
      request.headers["x-amz-content-sha256"] ?? emptyHash,
    ].joined(separator: "\n")
    let scope = "\(date)/\(region)/s3/aws4_request"
    let text = ["AWS4-HMAC-SHA256", time, scope, hash(Array(canonical.utf8))].joined(separator: "\n")
    var key = SymmetricKey(data: Array("AWS4\(credentials.secret)".utf8))
    for part in [date, region, "s3", "aws4_request"] { key = SymmetricKey(data: code(part, key)) }
    return "AWS4-HMAC-SHA256 Credential=\(credentials.id)/\(scope),SignedHeaders=\(signed),"
      + "Signature=\(code(text, key).hexadecimal)"
  }

  /// Returns the query as an address has it, and as a signature covers it: sorted and percent-encoded.
  package static func queryText(_ query: [(name: String, value: String)]) -> String {
    query.map { (encoded($0.name), encoded($0.value)) }.sorted { $0 < $1 }
      .map { "\($0)=\($1)" }.joined(separator: "&")
  }

  /// Percent-encodes all bytes but letters, digits, `-`, `.`, `_` and `~`, and but slashes in a path.
  package static func encoded(_ text: String, isPath: Bool = false) -> String {
    guard isPath else { return text.percentEncodedName }
    return text.split(separator: "/", omittingEmptySubsequences: false)
      .map { String($0).percentEncodedName }.joined(separator: "/")
  }

  /// Returns a time as signatures have it, such as `20130524T000000Z`.
  ///
  /// - Parameter milliseconds: the time since 1970.
  package static func time(_ milliseconds: Int64) -> String {
    let date = Date(timeIntervalSince1970: Double(milliseconds / 1000))
    return date.ISO8601Format().filter { $0 != "-" && $0 != ":" }
  }

  /// Returns the SHA-256 in lower-case hexadecimal.
  package static func hash(_ bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexadecimal }

  private static func code(_ text: String, _ key: SymmetricKey) -> [UInt8] {
    Array(HMAC<SHA256>.authenticationCode(for: Array(text.utf8), using: key))
  }

  /// Removes spaces at both ends, and makes one of several.
  private static func trimmed(_ value: String) -> String {
    value.split(separator: " ").joined(separator: " ")
  }
}
