/// Watching what requests give. Each is read again after a commit that touches a record of its types, and delivered when
/// what was read differs from the last time; a read costs what `ReadTransaction.fetch` says.
extension LocalStore: ReadableStore {
  /// Returns the present value of a request, then each later one.
  ///
  /// The call reads nothing. A commit that touches a type of the request costs one read of the value while `next`
  /// waits, and none otherwise. A read whose rows are equal to those before delivers nothing.
  ///
  /// ```swift
  /// let store = try LocalStore(at: path, schema: [Todo.self])
  /// for try await count in store.values(of: Todo.where { !$0.done }.count()) { show("\(count) to do") }
  /// ```
  public func values<R: ReadRequest>(of request: R) -> LiveValues<R.Value> {
    let plan = request.plan
    return observe(plan.region) { transaction, fingerprint in
      let answer = try transaction.answer(to: plan)
      fingerprint = answer.fingerprint
      return answer.value
    }
  }
}

extension AnyQuery: ReadRequest {
  /// The steps by which a store reads the records: one query, with the data beside the fields. An observation reads
  /// again after each commit that touches the type.
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
