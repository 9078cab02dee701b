import BothyCore

/// An address that a style names, resolved against the document that has it.
///
/// A style is a stranger's document, and its addresses are requested by the device. So an address must be one of a web
/// server, never falls back from HTTPS to HTTP, and reaches no machine of the local network unless the document itself
/// came from there.
struct StyleAddress: Hashable {
  let scheme: String
  /// The host with its port, in lower case.
  let authority: String
  /// The path and query, with placeholders as they are.
  let rest: String

  /// The longest address in bytes.
  private static let longest = 4096

  /// Creates the address of a document. Returns `nil` if the text isn't the address of a web server.
  init?(_ text: String) {
    guard text.utf8.count <= Self.longest, text.utf8.allSatisfy({ $0 > 32 && $0 != 127 && $0 != 92 }),
      let colon = text.firstRange(of: "://")
    else { return nil }
    scheme = text[..<colon.lowerBound].lowercased()
    guard scheme == "https" || scheme == "http" else { return nil }
    let after = text[colon.upperBound...].prefix { $0 != "#" }
    let end = after.firstIndex { $0 == "/" || $0 == "?" } ?? after.endIndex
    authority = after[..<end].lowercased()
    guard !authority.isEmpty, !authority.contains("@") else { return nil }
    rest = after[end...].hasPrefix("/") ? String(after[end...]) : "/" + after[end...]
  }

  var text: String { scheme + "://" + authority + rest }

  /// Returns the address that a text means in a document at this address.
  ///
  /// - Parameter what: the place of the text in the style, for an error.
  /// - Throws: `BothyError` `invalidSource` for an address that isn't requested, with the reason.
  func resolving(_ text: String, for what: String) throws(BothyError) -> StyleAddress {
    let given = text.replacing(" ", with: "%20")
    let whole: String
    if Self.hasScheme(given) {
      whole = given
    } else if given.hasPrefix("//") {
      whole = scheme + ":" + given
    } else if given.hasPrefix("/") {
      whole = scheme + "://" + authority + given
    } else {
      let path = rest.prefix { $0 != "?" }
      let folder = path.lastIndex(of: "/").map { path[...$0] } ?? "/"
      whole = scheme + "://" + authority + folder + given
    }
    guard let found = StyleAddress(whole) else {
      throw Self.refused(
        text, what, "It isn't the address of a web server. Use a style whose parts have https addresses.")
    }
    guard scheme == "http" || found.scheme == "https" else {
      throw Self.refused(text, what, "The style came over HTTPS, and this would be read over plain HTTP.")
    }
    guard mayLead(to: found) else {
      throw Self.refused(
        text, what, "It leads to a machine of the local network, and the style didn't come from there.")
    }
    return found
  }

  /// True if an address has the same host, or one outside of local networks.
  private func mayLead(to other: StyleAddress) -> Bool { other.host == host || !other.isLocal }

  /// Returns true if a redirect of what a style names is followed. It leads where an address in a document may lead.
  static func admitsRedirect(from: String, to: String) -> Bool {
    guard let from = StyleAddress(from), let to = StyleAddress(to) else { return false }
    return from.mayLead(to: to)
  }

  /// Returns the address without query items of these names.
  func leavingOut(_ names: Set<String>) -> StyleAddress {
    guard !names.isEmpty, let mark = rest.firstIndex(of: "?") else { return self }
    let items = rest[rest.index(after: mark)...].split(separator: "&", omittingEmptySubsequences: false)
    let kept = items.filter { item in !names.contains(String(item.prefix { $0 != "=" })) }
    let query = kept.isEmpty ? "" : "?" + kept.joined(separator: "&")
    return StyleAddress(scheme: scheme, authority: authority, rest: rest[..<mark] + query)
  }

  /// Returns the address with a text inserted at the end of its path.
  func appending(_ ending: String) -> String {
    let path = rest.prefix { $0 != "?" }
    return scheme + "://" + authority + path + ending + rest[path.endIndex...]
  }

  /// The host without its port.
  var host: String {
    if authority.hasPrefix("[") { return String(authority.prefix { $0 != "]" }) + "]" }
    return String(authority.prefix { $0 != ":" })
  }

  private init(scheme: String, authority: String, rest: String) {
    (self.scheme, self.authority, self.rest) = (scheme, authority, rest)
  }

  private static func hasScheme(_ text: String) -> Bool {
    let start = text.utf8.prefix { byte in
      switch byte {
      case 0x30...0x39, 0x41...0x5A, 0x61...0x7A, 0x2B, 0x2D, 0x2E: true
      default: false
      }
    }
    return !start.isEmpty && text.utf8.dropFirst(start.count).first == 0x3A
  }

  /// True for names and numbers of this machine and of local networks, in every spelling of a number.
  private var isLocal: Bool {
    if host.hasPrefix("[") { return true }
    let name = host.hasSuffix(".") ? host.dropLast() : host[...]
    let labels = name.split(separator: ".", omittingEmptySubsequences: false)
    guard labels.count > 1, let last = labels.last, !last.isEmpty else { return true }
    if ["local", "localhost", "internal", "lan", "home", "intranet", "arpa"].contains(last) { return true }
    guard last.first?.isNumber == true else { return false }
    let numbers = labels.compactMap { label in
      label.count > 1 && label.hasPrefix("0") ? nil : UInt8(label)
    }
    guard labels.count == 4, numbers.count == 4 else { return true }
    switch (numbers[0], numbers[1]) {
    case (0, _), (10, _), (127, _), (169, 254), (192, 168), (100, 64...127), (172, 16...31), (224..., _):
      return true
    default: return false
    }
  }

  private static func refused(_ text: String, _ what: String, _ reason: String) -> BothyError {
    BothyError(.invalidSource, "The style's \(what) is '\(text.prefix(200))'. \(reason)")
  }
}
