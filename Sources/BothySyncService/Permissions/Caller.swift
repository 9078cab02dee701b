import BothyStore

/// A user of the server, as authentication identified it.
///
/// The service trusts it, and checks no token. Two users are equal if their names and groups have equal bytes.
public struct Caller: Sendable, Hashable {
  /// The name that owns records; `nil` for a request without a token.
  ///
  /// It should be in Unicode's normal form C, in which no two names look alike.
  public var name: String?
  /// The groups of the user according to the issuer of its token. In audiences and as members of lists they have the
  /// prefix `group:`.
  ///
  /// They own nothing. A change affects the next request.
  public var groups: Set<String>
  /// True for a user that may change nothing in the space, whatever the permissions say. It is no part of equality.
  package var isReader = false

  /// Makes a user. Checks nothing.
  ///
  /// - Parameters:
  ///   - name: `nil` for a request without a token.
  ///   - groups: the groups' names, without `groupPrefix`.
  public init(_ name: String?, groups: Set<String> = []) {
    self.name = name
    self.groups = groups
  }

  /// The user of requests without a token. It owns nothing and is in no list.
  ///
  /// Of the accesses in a schema only `anyone` includes it.
  public static let anonymous = Caller(nil)

  /// The prefix of groups in places for names of users. The name of a user can't have it.
  ///
  /// Authentication has to refuse such a name, since `Caller` doesn't.
  public static let groupPrefix = "group:"

  /// The names by which records are shared with the user: its own first, then its groups. Empty without a token.
  ///
  /// The groups are sorted and have the prefix.
  public var names: [String] {
    guard let name else { return [] }
    return [name] + groups.sorted().map { Self.groupPrefix + $0 }
  }

  /// Compares names byte by byte, like storages. Swift's own `==` treats canonically equivalent texts as equal.
  public static func == (left: Caller, right: Caller) -> Bool {
    left.name.isSameName(as: right.name) && left.groups.count == right.groups.count
      && left.groups.allSatisfy(right.groups.hasName)
  }

  public func hash(into hasher: inout Hasher) {
    // Equal names have equal hashes, whatever else has.
    hasher.combine(name)
  }
}
