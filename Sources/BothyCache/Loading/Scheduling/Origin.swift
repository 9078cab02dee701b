/// A server, for limits and secrets: its scheme, host and port.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  let scheme: String
  /// The host in lower case, with the port unless it is the scheme's default.
  let authority: String

  /// Returns `nil` for a text that isn't the address of a web server.
  package init?(_ url: String) {
    guard let colon = url.firstRange(of: "://") else { return nil }
    let scheme = url[..<colon.lowerBound].lowercased()
    guard scheme == "http" || scheme == "https" else { return nil }
    let rest = url[colon.upperBound...]
    var authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
    if let at = authority.lastIndex(of: "@") { authority = authority[authority.index(after: at)...] }
    let port = scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(port) { authority = authority.dropLast(port.count) }
    guard !authority.isEmpty else { return nil }
    self.scheme = scheme
    self.authority = authority.lowercased()
  }

  /// The host in lower case, without a port.
  var host: String { String(authority.prefix { $0 != ":" }) }

  package var description: String { scheme + "://" + authority }
}

extension String {
  /// The address for display, without its query and fragment, which may contain secrets.
  var shownAddress: String { String(prefix { $0 != "?" && $0 != "#" }) }
}
