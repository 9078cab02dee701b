/// A server as limits and secrets know it: scheme, host and port.
package struct Origin: Hashable, Sendable, CustomStringConvertible {
  let scheme: String
  /// In lower case, with the port unless it is the scheme's own.
  let authority: String

  /// Nil for what is no address of a web server.
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

  package var description: String { scheme + "://" + authority }
}

extension String {
  /// The address as it may be shown: without a query, which may hold secrets.
  var shownAddress: String { String(prefix { $0 != "?" && $0 != "#" }) }
}
