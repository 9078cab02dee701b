/// Who acts on the server, as authentication found it.
public struct Principal: Sendable, Hashable {
  /// The name that owns records; nil for somebody who gave no token.
  public var name: String?
  /// The groups that whoever gave out the token says it belongs to. Records are shared with a group, and lists have it as
  /// a member, by the name `group:` and its own.
  public var groups: Set<String>

  /// - Parameters:
  ///   - name: nil for somebody who gave no token.
  ///   - groups: the groups' names, without `groupPrefix`.
  public init(_ name: String?, groups: Set<String> = []) {
    self.name = name
    self.groups = groups
  }

  /// Somebody who gave no token: owns nothing and is in no list.
  public static let anonymous = Principal(nil)

  /// What names of groups begin with where names of principals are expected; no principal's own name may.
  public static let groupPrefix = "group:"

  /// The names by which records are shared with it: its own first, then its groups. None for somebody who gave no token.
  public var names: [String] {
    guard let name else { return [] }
    return [name] + groups.sorted().map { Self.groupPrefix + $0 }
  }
}
