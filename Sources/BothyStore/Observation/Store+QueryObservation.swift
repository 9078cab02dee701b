/// Observing queries. Each is read again after a commit that touches a record of the query's type, and delivered if its
/// rows differ from the last ones delivered. `ReadTransaction.fetch` documents the cost of a read.
extension Store {
  /// Observes the records that the query describes, in its order.
  public func values<E: Entity>(of query: RecordQuery<E>) -> QueryObservation<[E]> {
    observe(.types(E.typeName)) { transaction, fingerprint in
      var rows = try RowCursor(query.recordQuery, in: transaction, isKept: true)
      defer { rows.close() }
      var entities: [E] = []
      while try rows.next() {
        rows.combine(into: &fingerprint)
        entities.append(try E(id: rows.id, from: &rows.fields))
      }
      return entities
    }
  }

  /// Observes the records of any type that the query describes.
  public func values(of query: AnyQuery) -> QueryObservation<[AnyRecord]> {
    observe(.types(query.type)) { transaction, fingerprint in
      var rows = try RowCursor(query, in: transaction, isKept: true, isWhole: true)
      defer { rows.close() }
      var records: [AnyRecord] = []
      while try rows.next() {
        rows.combine(into: &fingerprint)
        records.append(try rows.record())
      }
      return records
    }
  }

  /// Observes the number of records that the query describes.
  public func counts<E: Entity>(of query: RecordQuery<E>) -> QueryObservation<Int> {
    counts(of: query.recordQuery)
  }

  /// Observes the number of records that the query describes.
  public func counts(of query: AnyQuery) -> QueryObservation<Int> {
    observe(.types(query.type)) { try $0.count(query) }
  }
}
