package import BothyStore

import struct Foundation.Data

/// The place of a record in the order of a query, given to clients as an opaque token. The next page begins after it.
///
/// It has the record's id and the values of the sort keys, so the record itself may change or go. It has a checksum of
/// the query, and is refused with another one. It shows its holder nothing but values that the answer had.
package struct QueryCursor {
  /// The most bytes of a token. Without one, a client continues by an offset.
  package static let longest = 8192
  private static let prefix = "q1."

  /// A record with the values of the sort keys alone.
  package let record: AnyRecord

  /// Reads a token. Throws `SyncServiceError` `.badCursor` for one that isn't of this query.
  package init(_ token: String, for query: AnyQuery, _ schema: StoreSchema?) throws {
    let (type, query) = try query.resolved(in: schema)
    guard let record = Self.record(token, query.cursorKeys, type, Self.checksum(query)) else {
      throw SyncServiceError(
        .badCursor,
        "'\(token.prefix(64))' isn't a cursor of this query. Ask without a cursor to start over.")
    }
    self.record = record
  }

  /// Returns the token of a record, or `nil` if it is too long.
  package static func token(of record: ServerRecord, in query: AnyQuery, _ schema: StoreSchema?) throws
    -> String?
  {
    let (type, query) = try query.resolved(in: schema)
    // The kinds of the fields are guesses here, so their values have no known order.
    let isGuessed = try query.cursorKeys.contains { try !$0.isRank && type.queryField($0.field).isField }
    if schema == nil, isGuessed { return nil }
    let found = AnyRecord(record, try record.fields.members(), type)
    var writer = JSONWriter()
    writer.beginArray()
    writer.value(checksum(query))
    writer.value(record.id.id)
    for key in try query.resolvedOrder(type) where key.field != "id" {
      found.cursorValue(key, type).write(to: &writer)
    }
    writer.endArray()
    let token = prefix + Data(writer.bytes).base64EncodedString()
    return token.utf8.count > longest ? nil : token
  }

  private static func record(
    _ token: String, _ keys: [SortKey], _ type: TypeSchema, _ checksum: String
  ) -> AnyRecord? {
    guard token.utf8.count <= longest, token.hasPrefix(prefix),
      let bytes = Data(base64Encoded: String(token.dropFirst(prefix.count))),
      let parts = try? JSONValue(parsing: Array(bytes)).arrayValue,  // other text isn't a token
      parts.count == 2 + keys.count, parts[0].stringValue == checksum, let id = parts[1].stringValue
    else { return nil }
    var record = AnyRecord(type.name, id: id)
    for (key, json) in zip(keys, parts.dropFirst(2)) {
      if key.isRank {
        guard let rank = json.intValue else { return nil }
        record[key.field] = .int(rank)
        continue
      }
      guard let field = try? type.queryField(key.field),  // the query was resolved, so every name is known
        let value = try? FieldValue(json: json, kind: field.kind)  // other JSON isn't a value of the field
      else { return nil }
      record.set(field, key.field, value)
    }
    return record
  }

  /// Returns the checksum of all that decides the records and their order.
  private static func checksum(_ query: AnyQuery) -> String {
    var bound = query
    (bound.limit, bound.offset, bound.include) = (nil, 0, [])
    return String(ContentFile.sha256(of: Array(bound.json.canonicalText.utf8)).prefix(16))
  }
}

extension QueryField {
  fileprivate var isField: Bool {
    if case .field = self { true } else { false }
  }
}

extension AnyQuery {
  /// The sort keys whose values a cursor has.
  fileprivate var cursorKeys: [SortKey] { order.filter { $0.field != "id" } }
}

extension AnyRecord {
  /// Sets the value of a field or pseudo-field.
  fileprivate mutating func set(_ field: QueryField, _ name: String, _ value: FieldValue) {
    switch (field, value) {
    case (.container, .text(let text)): container = text
    case (.version, .text(let text)): version = text
    case (.owner, .text(let text)): origin.metadata.owner = text
    case (.created, .date(let time)): origin.metadata.createdTime = time
    case (.modified, .date(let time)): origin.metadata.modifiedTime = time
    case (.field, _): self[name] = value
    default: break
    }
  }
}
