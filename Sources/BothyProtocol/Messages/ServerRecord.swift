public import BothyStore

/// A record as the server has it: in pulls, in conflicts and in the server's storage.
public struct ServerRecord: Sendable, Hashable {
  /// The record's type and its id within that.
  public var id: RecordID
  /// The path of its container.
  package var container: String
  /// The opaque version of the last change. Bothy's own server uses the change's position in decimal digits.
  package var version: String
  /// The time when the record was last edited, in milliseconds since 1970. It is the editor's server-corrected time,
  /// never later than the server's own at that moment.
  package var modified: Int64
  /// The time when the record was created, in milliseconds since 1970: its first editor's server-corrected time. `nil`
  /// if the server doesn't send it.
  package var created: Int64?
  /// The user who created the record, if the server knows one.
  package var owner: String?
  /// True for a tombstone: the record was deleted at `version`, and `fields` is empty.
  public var isDeleted: Bool
  /// Its fields without nulls and without sensitive fields.
  public var fields: FieldsDocument
  /// The record's audience. A tombstone keeps it, so that users who saw the record receive its deletion.
  package var sharing: Audience

  /// - Parameters:
  ///   - container: `nil` means the type's own.
  ///   - isDeleted: true makes a tombstone, which must not have fields.
  public init(
    id: RecordID, container: String? = nil, version: String, modified: Int64, created: Int64? = nil,
    owner: String? = nil, isDeleted: Bool = false, fields: FieldsDocument = .empty,
    sharing: Audience = .nobody
  ) {
    self.id = id
    self.container = container ?? id.type
    self.version = version
    self.modified = modified
    self.created = created
    self.owner = owner
    self.isDeleted = isDeleted
    self.fields = fields
    self.sharing = sharing
  }
}

extension ServerRecord {
  /// Makes a record from this device's copy.
  package init(
    id: RecordID, container: String?, version: String, metadata: RecordMetadata, fields: FieldsDocument,
    sharing: Audience = .nobody
  ) {
    self.init(
      id: id, container: container, version: version, modified: metadata.modifiedTime ?? 0,
      created: metadata.createdTime, owner: metadata.owner, fields: fields, sharing: sharing)
  }

  /// The record's metadata. A time of 0 counts as unknown.
  package var metadata: RecordMetadata {
    RecordMetadata(created: created, modified: modified == 0 ? nil : modified, owner: owner)
  }

  /// Writes `{"type","id","container","version","modified","created"?,"owner"?,"sharing"?,"deleted"?,"fields"?}`.
  package func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.members(id)
    writer.member("container", container)
    writer.member("version", version)
    writer.member("modified", modified)
    if let created { writer.member("created", created) }
    if let owner { writer.member("owner", owner) }
    if !sharing.isEmpty {
      writer.key("sharing")
      sharing.write(to: &writer)
    }
    if isDeleted {
      writer.member("deleted", true)
    } else {
      writer.key("fields")
      writer.raw(fields.bytes)
    }
    writer.endObject()
  }

  /// Reads the output of `write`, and skips unknown members. Doesn't parse the fields. Throws `JSONError`.
  package init(from reader: inout JSONReader) throws {
    var type: String?
    var id: String?
    var container: String?
    var version: String?
    var modified: Int64 = 0
    var created: Int64?
    var owner: String?
    var isDeleted = false
    var fields = FieldsDocument.empty
    var sharing = Audience.nobody
    try reader.object { name, reader in
      switch name {
      case "type": type = try reader.string()
      case "id": id = try reader.string()
      case "container": container = try reader.string()
      case "version": version = try reader.string()
      case "modified": modified = try reader.int()
      case "created": created = try reader.nextIsNull() ? nil : reader.int()
      case "owner": owner = try reader.nextIsNull() ? nil : reader.string()
      case "sharing": sharing = try Audience(from: &reader)
      case "deleted": isDeleted = try reader.bool()
      case "fields":
        guard try reader.peek() == .object else {
          throw JSONError(reason: "'fields' must be an object", offset: reader.offset)
        }
        fields = FieldsDocument(canonical: try reader.rawValue(upTo: .max))
      default: try reader.skip()
      }
    }
    guard let type, let id, let version else {
      throw JSONError(reason: "a record needs 'type', 'id' and 'version'", offset: reader.offset)
    }
    self.init(
      id: RecordID(type: type, id: id), container: container, version: version, modified: modified,
      created: created, owner: owner, isDeleted: isDeleted, fields: fields, sharing: sharing)
  }
}

extension String {
  /// Returns true if this version is newer than `other`. Versions that are decimal numbers are ordered. Other versions
  /// count as newer if they differ.
  package func isNewer(than other: String) -> Bool {
    if let mine = Int64(self), let theirs = Int64(other) { return mine > theirs }
    return self != other
  }

  /// Returns true if both versions are decimal numbers and this one is higher. Other versions have no order.
  package func isHigher(than other: String) -> Bool {
    guard let mine = Int64(self), let theirs = Int64(other) else { return false }
    return mine > theirs
  }
}

extension [ServerRecord] {
  /// Returns the records with those of the next page. A record that is in both keeps its first place, with the content
  /// of the later page.
  package func adding(_ page: [ServerRecord]) -> [ServerRecord] {
    if isEmpty { return page }
    var all = self
    let places = Dictionary(all.enumerated().map { ($1.id, $0) }, uniquingKeysWith: { first, _ in first })
    for record in page {
      if let place = places[record.id] { all[place] = record } else { all.append(record) }
    }
    return all
  }
}
