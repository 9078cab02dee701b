/// The name of a new app, as its folder, its package and its program have it.
struct StarterName: Equatable {
  let text: String

  /// Checks a name. Returns `nil` if it doesn't fit `rule`.
  init?(_ text: String) {
    let letters = "abcdefghijklmnopqrstuvwxyz"
    let first = Set(letters + letters.uppercased())
    let others = first.union("0123456789-_")
    guard let head = text.first, first.contains(head), text.allSatisfy(others.contains), text.count <= 64
    else { return nil }
    self.text = text
  }

  static let rule = "Begin with a letter from a to z. Go on with letters, digits, - and _, at most 64 in all."

  /// The name of the Swift module: the words of the name in upper camel case, with `App` at the end.
  ///
  /// The end keeps it apart from keywords of Swift and from the modules that the app depends on.
  var module: String {
    let words = text.split { $0 == "-" || $0 == "_" }.map { $0.prefix(1).uppercased() + $0.dropFirst() }
    let joined = words.joined()
    return joined.lowercased().hasSuffix("app") ? joined : joined + "App"
  }
}
