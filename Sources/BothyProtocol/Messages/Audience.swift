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

/// A change of a record's audience. Changes of several users add up in any order, because each has only the users and
/// lists that it adds or removes.
public struct SharingChange: Sendable, Hashable {
  /// The users and lists that it adds, including those that are in the audience already.
  public private(set) var add: Audience
  /// The users and lists that it removes. None of them is in `add`.
  public private(set) var remove: Audience

  /// Makes a change. A name that is in both parameters is added.
  package init(add: Audience = .nobody, remove: Audience = .nobody) {
    self.add = add
    self.remove = remove.subtracting(add)
  }

  /// Makes the change from `old` to `new`.
  package init(from old: Audience, to new: Audience) {
    self.init(add: new.subtracting(old), remove: old.subtracting(new))
  }

  /// True if it changes nothing.
  package var isEmpty: Bool { add.isEmpty && remove.isEmpty }

  /// Returns this change and a later one as one change.
  package func then(_ later: SharingChange) -> SharingChange {
    SharingChange(
      add: add.subtracting(later.remove).union(later.add),
      remove: remove.subtracting(later.add).union(later.remove))
  }

  /// Returns the part of this change that is left after `sent`.
  package func remaining(after sent: SharingChange?) -> SharingChange {
    guard let sent else { return self }
    return SharingChange(add: add.subtracting(sent.add), remove: remove.subtracting(sent.remove))
  }

  /// Returns the audience after this change.
  public func applied(to sharing: Audience) -> Audience { sharing.union(add).subtracting(remove) }
}

extension Audience {
  /// Writes `{"principals"?,"lists"?}`, with sorted names.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, values) in [("principals", users), ("lists", lists)] where !values.isEmpty {
      writer.key(name)
      writer.beginArray()
      for value in values.sorted() { writer.value(value) }
      writer.endArray()
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

extension SharingChange {
  /// Returns the part of the change that the server's audience lacks, or `nil` if it has all of it.
  package func rest(over known: Audience) -> SharingChange? {
    let rest = SharingChange(from: known, to: applied(to: known))
    return rest.isEmpty ? nil : rest
  }

  /// Writes `{"add"?,"remove"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, part) in [("add", add), ("remove", remove)] where !part.isEmpty {
      writer.key(name)
      part.write(to: &writer)
    }
    writer.endObject()
  }

  /// Reads the output of `write`. Throws `JSONError`, also for an unknown member.
  package init(from reader: inout JSONReader) throws {
    var add = Audience.nobody
    var remove = Audience.nobody
    try reader.object { name, reader in
      switch name {
      case "add": add = try Audience(from: &reader)
      case "remove": remove = try Audience(from: &reader)
      default: throw JSONError(reason: "a change of sharing has no member '\(name)'", offset: reader.offset)
      }
    }
    self.init(add: add, remove: remove)
  }

  package var json: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.string
  }

  package init(json: String) throws { self = try JSONReader.read(json) { try SharingChange(from: &$0) } }
}
