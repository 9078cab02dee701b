/// Observing stored data: the present value, then each new one.
extension LocalStore {
  /// Observes the value of `fetch`. It is read again after each commit that touches `region`, and delivered if it isn't
  /// equal to the last one.
  ///
  /// `fetch` runs on a thread that all observations share, in one read transaction with the others.
  package func observe<Value: Sendable & Equatable>(
    _ region: ObservationRegion, fetch: @escaping @Sendable (ReadTransaction) throws -> Value
  ) -> LiveValues<Value> {
    LiveValues(self, region, comparing: fetch)
  }

  /// Like `observe(_:fetch:)`, but for values that can't be compared: `fetch` adds the data that it reads to a
  /// fingerprint.
  package func observe<Value: Sendable>(
    _ region: ObservationRegion,
    fingerprinting fetch: @escaping @Sendable (ReadTransaction, inout RowFingerprint) throws -> Value
  ) -> LiveValues<Value> {
    LiveValues(self, region, fingerprinting: fetch)
  }

  /// Observes one value of one record, for example `\.title`. Delivers only changes of that value, and nil while the
  /// record doesn't exist or can't be read. Reads one row by primary key after each commit that touches it.
  package func values<E: Entity, Value: Sendable & Equatable>(
    of type: E.Type, id: String, _ value: @escaping @Sendable (E) -> Value
  ) -> LiveValues<Value?> {
    observe(.records(RecordID(E.self, id: id))) { try $0.fetch(type, id: id, leavesOut: true).map(value) }
  }

  /// Observes one record of any type. Delivers nil while the record doesn't exist.
  package func values(of id: RecordID) -> LiveValues<AnyRecord?> {
    observe(.records(id)) { try $0.record(id) }
  }

  /// The commits, each with the records that it touched.
  package var commits: CommitStream { CommitStream(store: self) }

  /// Like `commits`, but includes commits that touched no record and changed other data that must be reported.
  package var allCommits: CommitStream { CommitStream(store: self, includesBookkeeping: true) }
}
