import HTTPTypes

/// The fields of every response that keep its content private to the page.
enum Fields {
  static let inspector = name("X-Bothy-Inspector")
  static let fetchSite = name("Sec-Fetch-Site")
  static let fetchDestination = name("Sec-Fetch-Dest")
  static let refresh = name("Refresh")

  static let policy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; "
    + "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    + "require-trusted-types-for 'script'; trusted-types 'none'"

  private static let all: [(HTTPField.Name, String)] = [
    (.contentSecurityPolicy, policy), (.xContentTypeOptions, "nosniff"), (.cacheControl, "no-store"),
    (name("Referrer-Policy"), "no-referrer"), (name("Cross-Origin-Resource-Policy"), "same-origin"),
    (name("Cross-Origin-Opener-Policy"), "same-origin"), (name("X-Frame-Options"), "DENY"),
  ]

  static func add(to headers: inout HTTPFields) {
    for (name, value) in all { headers[name] = value }
  }

  /// Returns the field name. All names above are valid.
  private static func name(_ text: String) -> HTTPField.Name { HTTPField.Name(text) ?? .server }
}
