import Foundation

/// The key of an account on S3.
public struct S3Credentials: Sendable, Hashable {
  /// The id of the key, which requests name.
  public var id: String
  /// The secret that requests are signed with.
  public var secret: String
  /// The token of temporary keys, or `nil`.
  public var token: String?

  /// Creates the value.
  public init(id: String, secret: String, token: String? = nil) {
    self.id = id
    self.secret = secret
    self.token = token
  }
}

extension S3Credentials {
  /// Reads a key from lines such as `AWS_ACCESS_KEY_ID=…`, with `AWS_SECRET_ACCESS_KEY` and, for a temporary key,
  /// `AWS_SESSION_TOKEN`, as systemd reads them. Other lines don't matter. Returns `nil` without a key.
  public init?(lines text: String) {
    var values: [String: String] = [:]
    for line in text.split(whereSeparator: \.isNewline) {
      let parts = line.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
      guard parts.count == 2 else { continue }
      var value = parts[1].trimmingCharacters(in: .whitespaces)
      if let quote = value.first, quote == "\"" || quote == "'", value.count > 1, value.last == quote {
        value = String(value.dropFirst().dropLast())
      }
      let name = parts[0].trimmingCharacters(in: .whitespaces)
      values[name.hasPrefix("export ") ? String(name.dropFirst(7)) : name] = value
    }
    self.init(environment: values)
  }

  /// Takes a key from environment variables. Returns `nil` without one.
  package init?(environment: [String: String]) {
    func value(_ name: String) -> String? { environment[name].flatMap { $0.isEmpty ? nil : $0 } }
    guard let id = value("AWS_ACCESS_KEY_ID"), let secret = value("AWS_SECRET_ACCESS_KEY") else { return nil }
    self.init(id: id, secret: secret, token: value("AWS_SESSION_TOKEN"))
  }
}
