import BothyStore

/// The types of these histories: lines belong to memos, and memos have tags.
enum TypesSchema {
  static let schema = StoreSchema(
    version: 1,
    types: [
      TypeSchema("Tag", fields: [FieldSchema("name", .text)]),
      TypeSchema(
        "Memo",
        fields: [
          FieldSchema("title", .text), FieldSchema("note", .text, optional: true, merge: .keepBoth),
          FieldSchema("count", .int, default: .int(0), merge: .counter),
          FieldSchema("tag", .reference(to: "Tag", onDelete: .nullify), optional: true),
          FieldSchema("tags", .references(to: "Tag", onDelete: .nullify), optional: true, merge: .setUnion),
        ]),
      TypeSchema(
        "Line",
        fields: [FieldSchema("text", .text), FieldSchema("memo", .reference(to: "Memo", onDelete: .cascade))]),
    ])
}

/// One of the types, named by the prefix of its records' ids: `memo` for `memo3`.
enum TypesKind: String, Codable, Sendable, CaseIterable {
  case tag, memo, line

  var type: String {
    switch self {
    case .tag: "Tag"
    case .memo: "Memo"
    case .line: "Line"
    }
  }
}

/// A record's id, which contains its type: `memo3`.
struct TypesName: RawRepresentable, Codable, Sendable, Hashable, CustomStringConvertible {
  var rawValue: String

  var description: String { rawValue }
  var kind: TypesKind { TypesKind.allCases.first { rawValue.hasPrefix($0.rawValue) } ?? .memo }
  var record: RecordID { RecordID(type: kind.type, id: rawValue) }
}

/// The value that an act gives to a field.
enum TypesValue: Codable, Sendable, Equatable {
  case empty
  case text(String)
  case count(Int)
  case one(TypesName)
  case all([TypesName])

  /// Returns the value for the store, or nil for a reference to a record that isn't on the device.
  func field(in transaction: ReadTransaction) throws -> FieldValue? {
    switch self {
    case .empty: .null
    case .text(let text): .text(text)
    case .count(let count): .int(Int64(count))
    case .one(let name): try transaction.record(name.record) == nil ? nil : .text(name.rawValue)
    case .all(let names):
      .list(try names.filter { try transaction.record($0.record) != nil }.map(\.rawValue))
    }
  }
}

extension [String: TypesValue] {
  /// Returns the fields for the store, without references to records that aren't on the device.
  func fields(in transaction: ReadTransaction) throws -> [String: FieldValue] {
    try compactMapValues { try $0.field(in: transaction) }
  }
}
