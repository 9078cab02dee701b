/// Watching what is stored: the present answer, then each new one.
extension Store {
  /// Watches the answer of `fetch`, which is read again after each commit that touches `region` and delivered
  /// when it is not equal to the last one.
  ///
  /// `fetch` runs on a thread shared by all observations, in one read transaction with the others.
  public func observe<Value: Sendable & Equatable>(
    _ region: ObservationRegion, fetch: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> QueryObservation<Value> {
    QueryObservation(self, region, comparing: fetch)
  }

  /// The same for answers that can't be compared: `fetch` adds what it reads to a fingerprint.
  package func observe<Value: Sendable>(
    _ region: ObservationRegion,
    fingerprinting fetch: @escaping @Sendable (ReadTransaction, inout RowFingerprint) throws -> Value
  ) -> QueryObservation<Value> {
    QueryObservation(self, region, fingerprinting: fetch)
  }

  /// Watches one record: nil while there is none. One row by primary key after each commit that touches it.
  public func values<E: Entity>(of type: E.Type, id: String) -> QueryObservation<E?> {
    observe(.records(RecordID(type: E.typeName, id: id))) { transaction, fingerprint in
      let entity = try transaction.fetch(type, id: id)
      if let entity { fingerprint.combine(entity) }
      return entity
    }
  }

  /// Watches one value of one record, `\.title` say: fires only when that value changed. Nil while there is no
  /// such record. One row by primary key after each commit that touches it.
  public func values<E: Entity, Value: Sendable & Equatable>(
    of type: E.Type, id: String, _ value: @escaping @Sendable (E) -> Value
  ) -> QueryObservation<Value?> {
    observe(.records(RecordID(type: E.typeName, id: id))) { try $0.fetch(type, id: id).map(value) }
  }

  /// Watches one record of any type: nil while there is none.
  public func values(of id: RecordID) -> QueryObservation<AnyRecord?> {
    observe(.records(id)) { try $0.record(id) }
  }

  /// The commits themselves: which records each touched.
  public var commits: CommitStream { CommitStream(store: self) }

  /// The same with commits that touched no record, and something beside them that others are to hear of.
  package var allCommits: CommitStream { CommitStream(store: self, includesBookkeeping: true) }
}
