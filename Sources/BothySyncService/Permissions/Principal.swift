import BothyStore

/// A user of the server, as authentication identified it.
public struct Principal: Sendable, Hashable {
  /// The name that owns records; `nil` for a request without a token.
  public var name: String?
  /// The groups of the user according to the issuer of its token. In audiences and as members of lists they have the
  /// prefix `group:`.
  public var groups: Set<String>

  /// - Parameters:
  ///   - name: `nil` for a request without a token.
  ///   - groups: the groups' names, without `groupPrefix`.
  public init(_ name: String?, groups: Set<String> = []) {
    self.name = name
    self.groups = groups
  }

  /// The user of requests without a token. It owns nothing and is in no list.
  public static let anonymous = Principal(nil)

  /// The prefix of groups in places for names of users. The name of a user can't have it.
  public static let groupPrefix = "group:"

  /// The names by which records are shared with the user: its own first, then its groups. Empty without a token.
  public var names: [String] {
    guard let name else { return [] }
    return [name] + groups.sorted().map { Self.groupPrefix + $0 }
  }

  /// Compares names byte by byte, like storages. Swift's own `==` treats canonically equivalent texts as equal.
  public static func == (left: Principal, right: Principal) -> Bool {
    left.name.isSameName(as: right.name) && left.groups.count == right.groups.count
      && left.groups.allSatisfy(right.groups.hasName)
  }

  public func hash(into hasher: inout Hasher) {
    // Equal names have equal hashes, whatever else has.
    hasher.combine(name)
  }
}
