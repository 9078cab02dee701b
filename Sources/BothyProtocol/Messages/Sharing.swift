public import BothyStore

/// Whom a record is shared with: principals by name, lists by id.
public struct Sharing: Sendable, Hashable {
  /// Names of principals, and of groups behind `Principal.groupPrefix`.
  public var principals: Set<String>
  /// Ids of lists: whoever is a member at the time may see the record.
  public var lists: Set<String>

  /// Nobody unless told otherwise.
  public init(principals: Set<String> = [], lists: Set<String> = []) {
    self.principals = principals
    self.lists = lists
  }

  /// Shared with nobody. A type's permissions may let in others all the same.
  public static let nobody = Sharing()

  /// Shared with principals, by name.
  public static func principals(_ names: String...) -> Sharing { Sharing(principals: Set(names)) }

  /// Shared with lists, by id.
  public static func lists(_ ids: String...) -> Sharing { Sharing(lists: Set(ids)) }

  /// Whether it is shared with nobody.
  public var isEmpty: Bool { principals.isEmpty && lists.isEmpty }

  /// How many names and lists; a list counts once, whatever its members.
  public var count: Int { principals.count + lists.count }

  /// Whoever is in one of both.
  public func union(_ other: Sharing) -> Sharing {
    Sharing(principals: principals.union(other.principals), lists: lists.union(other.lists))
  }

  /// Whoever is here and not in `other`; the members of lists are not looked at.
  public func subtracting(_ other: Sharing) -> Sharing {
    Sharing(principals: principals.subtracting(other.principals), lists: lists.subtracting(other.lists))
  }
}

/// A change of whom a record is shared with. Changes of several people add up in any order: each names only
/// those whom it lets in or shuts out.
public struct SharingChange: Sendable, Hashable {
  /// Whom it lets in, whether or not they are in already.
  public private(set) var add: Sharing
  /// Whom it shuts out; nobody who is let in.
  public private(set) var remove: Sharing

  /// Who is in both is added.
  public init(add: Sharing = .nobody, remove: Sharing = .nobody) {
    self.add = add
    self.remove = remove.subtracting(add)
  }

  /// The change that makes `new` of `old`.
  public init(from old: Sharing, to new: Sharing) {
    self.init(add: new.subtracting(old), remove: old.subtracting(new))
  }

  /// Whether it changes nothing.
  public var isEmpty: Bool { add.isEmpty && remove.isEmpty }

  /// This change and then a later one, as one.
  public func then(_ later: SharingChange) -> SharingChange {
    SharingChange(
      add: add.subtracting(later.remove).union(later.add),
      remove: remove.subtracting(later.add).union(later.remove))
  }

  /// What of this change is still to be made once `sent` is.
  package func remaining(after sent: SharingChange?) -> SharingChange {
    guard let sent else { return self }
    return SharingChange(add: add.subtracting(sent.add), remove: remove.subtracting(sent.remove))
  }

  /// What `sharing` is after this change.
  public func applied(to sharing: Sharing) -> Sharing { sharing.union(add).subtracting(remove) }
}

extension Sharing {
  /// Writes `{"principals"?,"lists"?}`, names sorted.
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, values) in [("principals", principals), ("lists", lists)] where !values.isEmpty {
      writer.key(name)
      writer.beginArray()
      for value in values.sorted() { writer.value(value) }
      writer.endArray()
    }
    writer.endObject()
  }

  /// Reads what `write` writes. Throws `JSONError`, also for an unknown member.
  public init(from reader: inout JSONReader) throws {
    self.init()
    var copy = self
    try reader.object { name, reader in
      switch name {
      case "principals": try reader.array { copy.principals.insert(try $0.string()) }
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

  package init(json: String) throws { self = try JSONReader.read(json) { try Sharing(from: &$0) } }
}

extension SharingChange {
  /// The part of the change that is still to be made of what the server has; nil where it has all of it.
  package func rest(over known: Sharing) -> SharingChange? {
    let rest = SharingChange(from: known, to: applied(to: known))
    return rest.isEmpty ? nil : rest
  }

  /// Writes `{"add"?,"remove"?}`.
  public func write(to writer: inout JSONWriter) {
    writer.beginObject()
    for (name, part) in [("add", add), ("remove", remove)] where !part.isEmpty {
      writer.key(name)
      part.write(to: &writer)
    }
    writer.endObject()
  }

  /// Reads what `write` writes. Throws `JSONError`, also for an unknown member.
  public init(from reader: inout JSONReader) throws {
    var add = Sharing.nobody
    var remove = Sharing.nobody
    try reader.object { name, reader in
      switch name {
      case "add": add = try Sharing(from: &reader)
      case "remove": remove = try Sharing(from: &reader)
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
