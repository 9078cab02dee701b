package import HTTPTypes

/// The header fields that identify a caller, in requests and in responses to them.
package enum CredentialFields {
  /// True if a field of a request or a response carries a credential, judged by its name.
  ///
  /// Programs use names of their own for such fields. A field that is wrongly judged to be a credential costs a request
  /// to the origin.
  package static func contains(_ name: HTTPField.Name) -> Bool {
    let name = name.canonicalName
    if harmless.contains(name) { return false }
    return named.contains(name) || words.contains { name.contains($0) }
  }

  /// True if any field carries a credential. Checks each name once.
  package static func areIn(_ fields: HTTPFields) -> Bool { fields.contains { contains($0.name) } }

  private static let named: Set<String> = ["dpop", "private-key", "x-pin", "x-otp", "x-user", "x-user-id"]

  /// The words also match `authentication-info`, `proxy-authorization`, `set-cookie2`, `x-api-key`, `api-key`,
  /// `x-auth-token`, `ocp-apim-subscription-key`, `x-amz-security-token` and `x-csrf-token`.
  private static let words = [
    "auth", "cookie", "token", "api-key", "apikey", "api_key", "access-key", "subscription-key", "secret",
    "session",
    "credential", "password", "signature",
  ]

  /// A challenge is equal for all callers without a credential.
  private static let harmless: Set<String> = ["www-authenticate", "proxy-authenticate", ":authority"]
}
