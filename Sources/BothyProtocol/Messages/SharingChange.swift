import BothyStore

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
