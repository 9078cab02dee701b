package import HTTPTypes

/// The header fields that are for one caller: what says who somebody is, and what such an answer gives back.
package enum CredentialFields {
  /// Whether a field of a request or an answer carries a credential: by its name, or because its name says so. Programs give
  /// such fields names of their own, and one that is taken for a credential without being one costs a look at the origin.
  package static func contains(_ name: HTTPField.Name) -> Bool {
    let name = name.canonicalName
    if harmless.contains(name) { return false }
    return named.contains(name) || words.contains { name.contains($0) }
  }

  /// Whether any field carries a credential. One look at the name of each.
  package static func areIn(_ fields: HTTPFields) -> Bool { fields.contains { contains($0.name) } }

  private static let named: Set<String> = ["dpop", "private-key", "x-pin", "x-otp", "x-user", "x-user-id"]

  /// `authentication-info` and `proxy-authorization` are found by these, and so are `set-cookie2`, `x-api-key`, `api-key`,
  /// `x-auth-token`, `ocp-apim-subscription-key`, `x-amz-security-token` and `x-csrf-token`.
  private static let words = [
    "auth", "cookie", "token", "api-key", "apikey", "api_key", "access-key", "subscription-key", "secret",
    "session",
    "credential", "password", "signature",
  ]

  /// A challenge is for all who come without a credential.
  private static let harmless: Set<String> = ["www-authenticate", "proxy-authenticate", ":authority"]
}
