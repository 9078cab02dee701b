import BothyStore
import BothySync

/// The records that refer to one record, in a group for each field that can.
struct Referrers {
  /// The records that refer to it by one field.
  struct Group {
    let type: String
    let field: String
    /// The condition that these records meet.
    let condition: ConditionTree
    /// The number of records, at most one more than `Referrers.most`.
    let count: Int
    /// The ids of the first records that SQLite finds.
    let ids: [String]

    fileprivate init(
      _ type: String, _ field: FieldSchema, to id: String, limit: Int, _ transaction: ReadTransaction
    ) throws {
      self.type = type
      self.field = field.name
      condition =
        if case .references = field.kind {
          .includes(field: field.name, .text(id))
        } else {
          .compare(field: field.name, .equal, .text(id))
        }
      var query = AnyQuery(type, where: condition, limit: Referrers.most + 1)
      query.isUnordered = true
      count = try transaction.count(query)
      query.limit = limit
      ids = try count == 0 ? [] : transaction.ids(query)
    }
  }

  /// The number up to which the records of a group are counted.
  static let most = 1000
  let groups: [Group]

  /// Finds the records by the indexes of their references. Costs two statements for each field, and the rows that are
  /// counted. The record itself needn't exist.
  init(of record: RecordID, in store: SyncedStore, limit: Int) async throws {
    let fields = store.store.schema.types.flatMap { type in
      type.fields.filter { $0.kind.target?.type == record.type }.map { (type: type.name, field: $0) }
    }
    groups = try await store.store.read { transaction in
      try fields.map { try Group($0.type, $0.field, to: record.id, limit: limit, transaction) }
    }
  }

  func write(to writer: inout JSONWriter) {
    writer.list("groups", groups) { writer, group in
      writer.member("type", group.type)
      writer.member("field", group.field)
      writer.member("where", group.condition.description)
      writer.member("count", min(group.count, Self.most))
      writer.member("hasMore", group.count > Self.most)
      writer.names("ids", group.ids)
    }
  }
}
