import BothyStore

/// The audience of a record: users by name, lists by id.
///
/// The prefix `group:` marks a group of the users' tokens. A server takes a thousand users and lists in one
/// audience.
///
/// ```swift
/// try await store.sharing.share(trip, with: .users("ben", "group:guides"))
/// let audience = try await store.sharing.audience(of: trip)
/// show(audience.users.sorted().joined(separator: ", "))
/// ```
public struct Audience: Sendable, Hashable {
  /// Names of users, and of groups with the prefix `group:`.
  public var users: Set<String>
  /// Ids of lists. Their members at the time may see the record.
  public var lists: Set<String>

  /// Makes an audience, empty by default.
  package init(users: Set<String> = [], lists: Set<String> = []) {
    self.users = users
    self.lists = lists
  }

  /// The empty audience. A type's permissions may let in others nevertheless.
  public static let nobody = Audience()

  /// Makes an audience of users, by name.
  public static func users(_ names: String...) -> Audience { Audience(users: Set(names)) }

  @available(*, unavailable, renamed: "users(_:)")
  public static func user(_ name: String) -> Audience { Audience(users: [name]) }

  /// Makes an audience of lists, by id.
  public static func lists(_ ids: String...) -> Audience { Audience(lists: Set(ids)) }

  /// True if the audience is empty.
  package var isEmpty: Bool { users.isEmpty && lists.isEmpty }

  /// The number of names and lists. A list counts once, for any number of members.
  package var count: Int { users.count + lists.count }

  /// Returns the users and lists that are in at least one of both.
  package func union(_ other: Audience) -> Audience {
    Audience(users: users.union(other.users), lists: lists.union(other.lists))
  }

  /// Returns the users and lists that are not in `other`. The members of lists aren't considered.
  package func subtracting(_ other: Audience) -> Audience {
    Audience(users: users.subtracting(other.users), lists: lists.subtracting(other.lists))
  }
}

extension Audience {
  /// Writes `{"principals"?,"lists"?}`, with sorted names.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, values) in [("principals", users), ("lists", lists)] where !values.isEmpty {
      writer.names(name, values.sorted())
    }
    writer.endObject()
  }

  /// Reads the output of `write`. Throws `JSONError`, also for an unknown member.
  package init(from reader: inout JSONReader) throws {
    self.init()
    var copy = self
    try reader.object { name, reader in
      switch name {
      case "principals": try reader.array { copy.users.insert(try $0.string()) }
      case "lists": try reader.array { copy.lists.insert(try $0.string()) }
      default: throw JSONError(reason: "a sharing has no member '\(name)'", offset: reader.offset)
      }
    }
    self = copy
  }

  /// The canonical JSON object.
  package var json: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.string
  }

  package init(json: String) throws { self = try JSONReader.read(json) { try Audience(from: &$0) } }
}
