import BothyStore

/// One index of a type's records: by the values of a field, or by the words of the full-text fields.
///
/// All indexes of a space are rows of one table: the space, the number of the index, a key and a record's id. A key is
/// bytes that sort like the value (`FieldKey`), so both storages compare them in the same way. The rows are written by
/// the transaction that writes the records.
///
/// Expression indexes on the documents were the alternative. They need a statement that changes the tables for each
/// field, are built in one step under a lock, and index all spaces or none. Citus runs such a statement on every shard.
/// Here a new index is rows that are added space by space, a thousand records at a time, and an index that is no longer
/// wanted is rows to delete. Full text, lists and places are rows too. The price is a row for each value: with short
/// ids about 130 bytes on PostgreSQL, for the table and its key.
///
/// A row names a record to check, and the record decides. So a row that an older server left behind is harmless. Unique
/// fields have an index as on devices.
struct FieldIndex: Sendable, Hashable {
  /// The kind of the values. The raw value is part of the name.
  enum Form: String, Sendable {
    case bool, int, double, date, string, uuid, data, coordinate, reference, references
    case natural, grams
    /// The words of an earlier server, in which those of scripts without spaces were whole. No schema declares it.
    case words
  }

  let type: String
  /// The field, or the full-text fields.
  let fields: [String]
  let form: Form
  /// The mark of a condition that the records of the index meet, or `nil` for an index of all records of the type.
  let part: String?

  /// The most keys of one record. A record with more has one key, by which every search finds it.
  static let keyLimit = 500

  /// Returns `nil` for a field without an index.
  init?(_ field: FieldSchema, of type: String) {
    guard field.isIndexed || field.isUnique, let form = Form(rawValue: field.kind.name), form.isOfField
    else { return nil }
    (self.type, fields, self.form, part) = (type, [field.name], form, nil)
  }

  /// Makes the index of those records alone that meet a condition with this mark.
  init(_ index: FieldIndex, part: String) {
    (type, fields, form, self.part) = (index.type, index.fields, index.form, part)
  }

  /// Makes the index by the natural order of a field's texts. Returns `nil` for a field without stored sort keys.
  init?(naturalOf field: FieldSchema, of type: String) {
    guard field.isNatural else { return nil }
    (self.type, fields, form, part) = (type, [field.name], .natural, nil)
  }

  /// Makes the index of the full-text fields. Returns `nil` for a type without any.
  init?(wordsOf type: TypeSchema) {
    guard type.hasFullText else { return nil }
    (self.type, form, part) = (type.name, .grams, nil)
    fields = type.fields.filter(\.isFullText).map(\.name).sorted()
  }

  /// Reads a name. Returns `nil` for text that isn't the name of an index.
  init?(name: String) {
    let parts = name.split(separator: " ", omittingEmptySubsequences: false)
    guard (3...4).contains(parts.count), let form = Form(rawValue: String(parts[2])) else { return nil }
    (type, self.form) = (String(parts[0]), form)
    part = parts.count == 4 ? String(parts[3]) : nil
    fields = parts[1].split(separator: ",").map(String.init)
    guard !type.isEmpty, !fields.isEmpty else { return nil }
  }

  /// The name: the type, the fields, the form and the part, which have no spaces.
  var name: String {
    "\(type) \(fields.joined(separator: ",")) \(form.rawValue)" + (part.map { " " + $0 } ?? "")
  }

  /// True if the keys sort like the values, and each record has one.
  var isOrdered: Bool { form.isOrdered }

  /// Returns the keys of a live record with these fields, each once.
  func keys(in members: [String: JSONValue]) -> Set<[UInt8]> {
    switch form {
    case .words, .grams:
      let texts = fields.compactMap { members[$0]?.stringValue }
      return Self.bounded(Set(texts.flatMap(TextSearch.keys(of:)).map { FieldKey.key(.text($0)) }))
    case .natural:
      guard case .text(let text) = value(in: members) else { return [FieldKey.null] }
      return [FieldKey.key(.text(NaturalOrder.key(of: text)))]
    case .references:
      guard case .list(let ids) = value(in: members) else { return [FieldKey.null] }
      return Self.bounded(Set(ids.map { FieldKey.key(.text($0)) }))
    default: return [FieldKey.key(value(in: members))]
    }
  }

  private static func bounded(_ keys: Set<[UInt8]>) -> Set<[UInt8]> {
    keys.count > keyLimit ? [FieldKey.many] : keys
  }

  /// Returns the value of the field. One of another kind counts as null.
  private func value(in members: [String: JSONValue]) -> FieldValue {
    guard let kind, let field = fields.first, let json = members[field] else { return .null }
    return (try? FieldValue(json: json, kind: kind)) ?? .null  // a value of another kind counts as null
  }

  private var kind: ValueKind? {
    switch form {
    case .bool: .bool
    case .int: .int
    case .double: .double
    case .date: .date
    case .string, .natural: .text
    case .uuid: .uuid
    case .data: .data
    case .coordinate: .coordinate
    case .reference: .reference(to: "", onDelete: .nullify)
    case .references: .references(to: "", onDelete: .nullify)
    case .words, .grams: nil
    }
  }
}

extension FieldIndex.Form {
  /// True of a kind of values.
  fileprivate var isOfField: Bool {
    switch self {
    case .natural, .words, .grams: false
    default: true
    }
  }
}
