import BothyStore

/// Following references, from here and from the server.
extension SyncedStore {
  /// Fetches the record that a reference points at, by a read policy; `nil` means the one in force. One look-up, and one
  /// round trip where the policy uses the server.
  ///
  /// ```swift
  /// if let list = todo.list, let found = try await store.fetch(list, policy: .localElseRemote) { show(found.name) }
  /// ```
  ///
  /// Returns `nil` if the record isn't on this device and the policy doesn't use the server, or the server has none for
  /// this user. Many references are cheaper with `RecordQuery.with(_:)`.
  ///
  /// - Throws: `BothyError` `.relatedRecordUnavailable`, which names the record, if it isn't here and the server can't be
  ///   reached; `.unreachable` under `.remote`.
  public func fetch<Target: Entity>(
    _ reference: Reference<Target>, policy: ReadPolicy? = nil
  ) async throws -> Target? {
    do {
      let found = try await resolve([reference.recordID], options: RequestOptions(readPolicy: policy))
      return try found.first?.entity(Target.self)
    } catch let error as BothyError where error.code == .relatedRecordUnavailable && error.underlying == nil {
      return nil
    }
  }

  /// The records with these ids, of any types, in the order given. One round trip for each type and thousand. Throws
  /// `BothyError` `.relatedRecordUnavailable` for the first that can't be had.
  package func resolve(_ ids: [RecordID], options: RequestOptions = RequestOptions()) async throws
    -> [AnyRecord]
  {
    var cause: BothyError?
    do { try await bring(ids, options) } catch let error as BothyError where error.code == .unreachable {
      if (options.readPolicy ?? governor.readPolicy) == .remote { throw error }
      cause = error
    }
    let reason = cause
    return try await store.read { transaction in
      try ids.map { id in
        guard let record = try transaction.record(id) else { throw Self.unavailable(id, reason) }
        return record
      }
    }
  }

  private static func unavailable(_ id: RecordID, _ cause: BothyError?) -> BothyError {
    let why = cause.map { " \($0.message)" } ?? " It may have been deleted, or may not be yours to see."
    return BothyError(
      .relatedRecordUnavailable, "\(id) is not on this device and could not be fetched.\(why)", record: id,
      underlying: cause)
  }

  /// Requests from the server those of the ids that the policy wants requested. Pending records are never replaced.
  package func bring(_ ids: [RecordID], _ options: RequestOptions) async throws {
    for (type, ofType) in Dictionary(grouping: ids, by: \.type).sorted(by: { $0.key < $1.key }) {
      let wanted = Set(ofType.map(\.id))
      let missing: Set<String>
      switch try policy(for: type, options, configuration) {
      case .local: missing = []
      case .localThenRemote:
        engine.request()
        missing = []
      case .remote, .remoteElseLocal: missing = wanted
      case .syncThenLocal:
        await sync(.both, container: type, ifRunning: .join)
        missing = try await absent(wanted, type)
      case .localElseRemote: missing = try await absent(wanted, type)
      }
      guard !missing.isEmpty else { continue }
      let query = AnyQuery(type, where: .oneOf(field: "id", missing.sorted().map { .text($0) }))
      let pulled = try await pulledStates()
      let found: [ServerRecord]
      do { found = try await remote.all(query) } catch { throw BothyError(error) }
      let answer = NetworkAnswer(records: found, ids: Set(found.map(\.id.id)), isExhausted: true)
      try await merge(answer, query, since: pulled, isNoted: false)
    }
  }

  /// Which ids are neither here nor deleted here.
  private func absent(_ ids: Set<String>, _ type: String) async throws -> Set<String> {
    try await store.read { transaction in
      try ids.filter { id in
        let record = RecordID(type: type, id: id)
        let mark = try OutboxQueue.mark(record, in: transaction)
        return try !transaction.exists(record) && (mark == nil || mark?.isHidden == true)
      }
    }
  }
}
