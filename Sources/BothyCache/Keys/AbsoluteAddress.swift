/// A parsed address in canonical form (RFC 3986 §6.2).
///
/// Scheme and host are in lower case. The address has no default port, no dot segments, no fragment, and one form of
/// percent-encoding.
struct AbsoluteAddress: Hashable {
  var scheme: String
  /// The host, with the port if it isn't the default of the scheme.
  var authority: String
  /// The path, which begins with a slash.
  var path: String
  /// The query without the question mark, or `nil` if the address has none.
  var query: String?

  /// Returns `nil` if the text isn't the address of a web server.
  init?(_ text: String) {
    guard let colon = text.firstRange(of: "://") else { return nil }
    scheme = text[..<colon.lowerBound].lowercased()
    guard scheme == "https" || scheme == "http" else { return nil }
    let rest = text[colon.upperBound...]
    let end = rest.firstIndex { $0 == "/" || $0 == "?" || $0 == "#" } ?? rest.endIndex
    var authority = rest[..<end].lowercased()
    if let at = authority.lastIndex(of: "@") { authority = String(authority[authority.index(after: at)...]) }
    let port = scheme == "https" ? ":443" : ":80"
    if authority.hasSuffix(port) { authority.removeLast(port.count) }
    if authority.hasSuffix(":") { authority.removeLast() }
    guard !authority.isEmpty, authority.utf8.allSatisfy({ $0 > 32 && $0 != 92 && $0 != 127 }) else {
      return nil
    }
    self.authority = authority
    let (path, query) = CanonicalPath.split(rest[end...])
    self.path = "/" + CanonicalPath.path(path)
    self.query = query.map { CanonicalPath.encoded($0, keeping: CanonicalPath.queryCharacters) }
  }

  var text: String {
    scheme + "://" + authority + path + (query.map { "?" + $0 } ?? "")
  }
}
