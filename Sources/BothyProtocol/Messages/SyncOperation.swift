public import BothyStore

/// One conditional change that a device requests from the server.
///
/// Its `id` is fixed before the first send and reused on every retry. The server applies an operation once and answers
/// a repetition with the first outcome.
public struct SyncOperation: Sendable, Hashable {
  /// The operation's id: 1 to 128 bytes, unique for the device. Later ids sort after earlier ones.
  public var id: String
  /// The kind of change.
  public var kind: ChangeKind
  /// The changed record, by type and id.
  public var record: RecordID
  /// The container of a new record; `nil` means the type's own.
  public var container: String?
  /// The version that the change was made against; `nil` for a record that the server has never acknowledged.
  public var base: String?
  /// The id of the operation in this request that the change was made on top of. That operation's result replaces
  /// `base`. If the server doesn't apply it, this one waits.
  public var after: String?
  /// The fields to set. A null clears the field.
  public var fields: [String: JSONValue]
  /// The time when the user made the change, in milliseconds, corrected to the server's clock. With `nil` the server
  /// sets it.
  public var modified: Int64?
  /// The values of sensitive fields, which are not part of the record.
  public var secrets = Secrets()
  /// The change of the record's audience, with the other changes or alone.
  public var sharing: SharingChange?

  /// The group of the operation's transaction; `nil` for an operation of its own.
  public var group: Group?

  /// Operations that the server applies together or not at all. They are adjacent in one request.
  public struct Group: Sendable, Hashable {
    /// A name that is unique in the request.
    public var id: String
    /// The number of operations in the group. The server applies none of a group that has fewer.
    public var size: Int

    /// - Parameter size: the number of operations, this one included.
    package init(id: String, size: Int) {
      self.id = id
      self.size = size
    }
  }

  /// - Parameter base: `nil` for an insert, unless it restores a record that the server lost. An update or a deletion
  ///   without it is a conflict.
  package init(
    id: String, kind: ChangeKind, record: RecordID, container: String? = nil, base: String? = nil,
    fields: [String: JSONValue] = [:], modified: Int64? = nil, sharing: SharingChange? = nil,
    group: Group? = nil
  ) {
    self.id = id
    self.kind = kind
    self.record = record
    self.container = container
    self.base = base
    self.fields = fields
    self.modified = modified
    self.sharing = sharing
    self.group = group
  }
}

extension SyncOperation {
  /// Writes `{"id","kind","type","record","container"?,"base"?,"after"?,"fields"?,"cleared"?,"modified"?,"sharing"?,
  /// "group"?,"secrets"?}`. Set fields are in `fields`, cleared ones by name in `cleared`. A group is `{"id","size"}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    writer.member("kind", kind.rawValue)
    writer.member("type", record.type)
    writer.member("record", record.id)
    if let container { writer.member("container", container) }
    if let base { writer.member("base", base) }
    if let after { writer.member("after", after) }
    if let modified { writer.member("modified", modified) }
    if let group {
      writer.object("group") { writer in
        writer.member("id", group.id)
        writer.member("size", group.size)
      }
    }
    if !secrets.isEmpty {
      writer.key("secrets")
      JSONValue.write(secrets.values.mapValues { .string($0) }, to: &writer)
    }
    if kind != .delete { writeFields(to: &writer) }
    if let sharing {
      writer.key("sharing")
      sharing.write(to: &writer)
    }
    writer.endObject()
  }

  private func writeFields(to writer: inout JSONWriter) {
    writer.key("fields")
    JSONValue.write(fields, leavingOutNulls: true, to: &writer)
    let cleared = fields.lazy.filter { $0.value.isNull }.map(\.key).sorted()
    if !cleared.isEmpty { writer.names("cleared", cleared) }
  }

  /// Reads the output of `write`. Throws `JSONError` for a missing or unknown member or kind.
  package init(from reader: inout JSONReader) throws {
    var members = Members()
    try reader.object { name, reader in try members.read(name, &reader) }
    guard let id = members.id, let kind = members.kind, let type = members.type, let record = members.record
    else {
      throw JSONError(reason: "an operation needs 'id', 'kind', 'type' and 'record'", offset: reader.offset)
    }
    for name in members.cleared { members.fields[name] = .null }
    self.init(
      id: id, kind: kind, record: RecordID(type: type, id: record), container: members.container,
      base: members.base, fields: members.fields, modified: members.modified, sharing: members.sharing,
      group: members.group)
    after = members.after
    secrets = Secrets(members.secrets)
  }

  private struct Members {
    var id: String?
    var kind: ChangeKind?
    var type: String?
    var record: String?
    var container: String?
    var base: String?
    var after: String?
    var modified: Int64?
    var fields: [String: JSONValue] = [:]
    var cleared: [String] = []
    var secrets: [String: String] = [:]
    var sharing: SharingChange?
    var group: Group?

    mutating func read(_ name: String, _ reader: inout JSONReader) throws {
      switch name {
      case "id": id = try reader.string()
      case "kind":
        let text = try reader.string()
        guard let known = ChangeKind(rawValue: text) else {
          throw JSONError(reason: "'\(text)' isn't a kind of operation", offset: reader.offset)
        }
        kind = known
      case "type": type = try reader.string()
      case "record": record = try reader.string()
      case "container": container = try reader.nextIsNull() ? nil : reader.string()
      case "base": base = try reader.nextIsNull() ? nil : reader.string()
      case "after": after = try reader.nextIsNull() ? nil : reader.string()
      case "modified": modified = try reader.nextIsNull() ? nil : reader.int()
      case "sharing": sharing = try reader.nextIsNull() ? nil : SharingChange(from: &reader)
      case "secrets": try reader.object { secrets[$0] = try $1.string() }
      case "fields": try reader.object { fields[$0] = try JSONValue(from: &$1) }
      case "group": group = try reader.nextIsNull() ? nil : Group(from: &reader)
      case "cleared": try reader.array { cleared.append(try $0.string()) }
      default: throw JSONError(reason: "an operation has no member '\(name)'", offset: reader.offset)
      }
    }
  }
}

extension SyncOperation.Group {
  fileprivate init(from reader: inout JSONReader) throws {
    var group = SyncOperation.Group(id: "", size: 0)
    try reader.object { name, reader in
      switch name {
      case "id": group.id = try reader.string()
      case "size": group.size = Int(clamping: try reader.int())
      default: throw JSONError(reason: "a group has no member '\(name)'", offset: reader.offset)
      }
    }
    guard !group.id.isEmpty, group.size > 0 else {
      throw JSONError(reason: "a group needs 'id' and a 'size' of at least 1", offset: reader.offset)
    }
    self = group
  }
}

extension ChangeKind {
  package var number: Int64 {
    switch self {
    case .insert: 0
    case .update: 1
    case .delete: 2
    }
  }

  package init(number: Int64) { self = number == 0 ? .insert : number == 1 ? .update : .delete }
}
