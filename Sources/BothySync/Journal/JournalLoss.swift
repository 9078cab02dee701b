import BothyStore

extension Journal {
  /// What a decision took from the user: enough to show what was replaced by what, and to bring it back.
  struct Loss {
    /// The record as it was here; nil for a deletion that was undone.
    var local: FieldsDocument?
    /// The fields that were changed here and have another value now.
    private(set) var names: [String] = []
    /// What these had before the change; nil where the server did not know the record.
    private(set) var base: FieldsDocument?
    /// What they have now; nil where the record is gone.
    private(set) var now: FieldsDocument?
    /// When the other side was written.
    private(set) var nowTime: Int64?
    /// The container that the record was put in here, where it is in another one now, or gone.
    private(set) var place: String?

    /// - Parameters:
    ///   - local: the record as it was here; nil for a deletion.
    ///   - current: what the server has; nil where it has no such record.
    ///   - fields: what the record became, where that is not what the server has.
    ///   - place: the container that was chosen here and lost.
    init(
      _ local: FieldsDocument?, since base: FieldsDocument?, now current: ServerRecord?,
      fields: FieldsDocument? = nil, place: String? = nil, in schema: TypeSchema
    ) throws {
      nowTime = current.flatMap { $0.modified == 0 ? nil : $0.modified }
      self.place = place
      guard let local else { return }
      let live = current.flatMap { $0.isDeleted ? nil : $0 }
      try compare(local, since: base, now: fields ?? live?.fields, in: schema)
    }

    /// The same of an entry and its row.
    init(
      _ entry: OutboxEntry, _ row: StoredRow?, _ table: TypeTable, now current: ServerRecord?,
      fields: FieldsDocument? = nil
    ) throws {
      let live = current.flatMap { $0.isDeleted ? nil : $0 }
      let isPlaced = entry.base == nil || entry.destination(row?.container) != nil
      let place = row.flatMap { row -> String? in
        let container = row.container ?? entry.record.type
        let isLost = live.map { isPlaced && $0.container != container } ?? (fields == nil)
        return isLost ? container : nil
      }
      try self.init(
        row.map { table.document($0) }, since: entry.base?.fields, now: current, fields: fields, place: place,
        in: table.schema)
    }

    /// Sensitive fields are in no document; were one in it, it would not be kept.
    private mutating func compare(
      _ local: FieldsDocument, since base: FieldsDocument?, now: FieldsDocument?, in schema: TypeSchema
    ) throws {
      let secret = schema.fields.filter(\.isSensitive).map(\.name)
      var mine = try local.members()
      let isBare = secret.allSatisfy { mine[$0] == nil }
      for name in secret { mine[name] = nil }
      let before = try base?.members()
      let after = try now?.members()
      names = Set(mine.keys).union((before ?? [:]).keys).subtracting(secret)
        .filter { name in
          let value = mine[name] ?? .null
          return value != before?[name] ?? .null && (after == nil || value != after?[name] ?? .null)
        }
        .sorted()
      self.local = isBare ? local : FieldsDocument(mine)
      self.base = before.map { before in FieldsDocument(before.filter { names.contains($0.key) }) }
      self.now = after.map { after in FieldsDocument(after.filter { names.contains($0.key) }) }
    }

    var namesJSON: String { Self.json(names) }

    static func json(_ names: [String]) -> String {
      JSONValue.array(names.map { .string($0) }).canonicalText
    }

    /// Unreadable text names nothing: it is this module's own.
    static func names(_ json: String?) -> [String] {
      json.flatMap { try? JSONValue(parsing: $0).arrayValue?.compactMap(\.stringValue) } ?? []
    }
  }
}
