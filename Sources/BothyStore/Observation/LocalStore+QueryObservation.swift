/// Watching what requests give. Each is read again after a commit that touches a record of its types, and delivered when
/// what was read differs from the last time; a read costs what `ReadTransaction.fetch` says.
extension LocalStore: ReadableStore {
  public func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value> {
    let plan = request.plan
    return observe(plan.region) { transaction, fingerprint in
      var kept: RowFingerprint? = fingerprint
      defer { if let kept { fingerprint = kept } }
      return try plan.run(transaction, &kept)
    }
  }
}

extension AnyQuery: ReadRequest {
  public var plan: ReadTransaction.Plan<[AnyRecord]> {
    ReadTransaction.Plan(.types(type), ReadIdentity(self)) { transaction, fingerprint in
      var rows = try RowCursor(self, in: transaction, isKept: fingerprint != nil, isWhole: true)
      defer { rows.close() }
      var records: [AnyRecord] = []
      while try rows.next() {
        rows.combine(into: &fingerprint)
        records.append(try rows.record())
      }
      return records
    }
  }

  /// Counts the records. Reads no fields but those of the condition.
  package func count() -> AggregateQuery<Int> {
    AggregateQuery(
      plan: ReadTransaction.Plan(.types(type), ReadIdentity(self, words: ["count"])) {
        transaction, fingerprint in
        let count = try transaction.count(self)
        fingerprint?.combine(count)
        return count
      })
  }
}
