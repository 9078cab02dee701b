import BothyStore

extension Journal {
  /// The content that a decision took from the user. It is enough to show which values were replaced, and to restore
  /// them.
  struct Loss {
    /// The local record, or `nil` for a deletion that was undone.
    var local: FieldsDocument?
    /// The fields that were changed here and have another value now.
    private(set) var names: [String] = []
    /// The values of these fields before the change, or `nil` if the server didn't know the record.
    private(set) var base: FieldsDocument?
    /// The present values of these fields, or `nil` if the record no longer exists.
    private(set) var now: FieldsDocument?
    /// The time of the other side's write, or `nil`.
    private(set) var nowTime: Int64?
    /// The container that the record was put in here, if it is in another one now or no longer exists.
    private(set) var place: String?

    /// - Parameters:
    ///   - local: the record as it was here, or `nil` for a deletion.
    ///   - current: the server's version, or `nil` if it doesn't have the record.
    ///   - fields: the fields that the record got, if they aren't the server's.
    ///   - place: the container that was chosen here and lost.
    init(
      _ local: FieldsDocument?, since base: FieldsDocument?, now current: ServerRecord?,
      fields: FieldsDocument? = nil, place: String? = nil, in schema: TypeSchema
    ) throws {
      nowTime = current.flatMap { $0.modified == 0 ? nil : $0.modified }
      self.place = place
      guard let local else { return }
      try compare(local, since: base, now: fields ?? current?.live?.fields, in: schema)
    }

    /// Like `init(_:since:now:fields:place:in:)`, but for an entry as it is here.
    init(
      _ entry: Outbox.Entry, now current: ServerRecord?, fields: FieldsDocument? = nil,
      in transaction: ReadTransaction
    ) throws {
      let table = try transaction.catalog.table(entry.record.type)
      let row = try OutboxQueue.local(entry, table, in: transaction)
      let live = current?.live
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

    /// Compares the fields. Documents have no sensitive fields, and a document that had one is kept without it.
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

    /// Returns the names. Text that can't be read names nothing, because this module writes it.
    static func names(_ json: String?) -> [String] {
      json.flatMap { try? JSONValue(parsing: $0).arrayValue?.compactMap(\.stringValue) } ?? []
    }
  }
}
