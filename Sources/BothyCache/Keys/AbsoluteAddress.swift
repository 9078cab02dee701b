/// An address taken apart and made canonical (RFC 3986 §6.2): scheme and host in lower case, no default port, no dot
/// segments, percent-encoding in one form, no fragment.
struct AbsoluteAddress: Hashable {
  var scheme: String
  /// Host, with the port if it is not the scheme's own.
  var authority: String
  /// Begins with a slash.
  var path: String
  /// Without the question mark; nil when there is none.
  var query: String?

  /// Nil when the text is no address of a web server.
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
