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
  private func bring(_ ids: [RecordID], _ options: RequestOptions) async throws {
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
      let found: [ServerRecord]
      do { found = try await remote.all(query) } catch { throw BothyError(error) }
      try await catchUp(with: found)
      try await take(found)
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

  // MARK: ahead of need

  /// The most steps that a prefetch follows.
  package static var prefetchDepthLimit: Int { 3 }

  /// Downloads the records of a query and the records that they refer to, for use without a network.
  ///
  /// Uses the read policy in force, or `.remoteElseLocal` if that is `.local`. Costs one fetch, then one round trip for
  /// each step, type and thousand records that are missing. Only the first step's records are requested again if they
  /// are on this device. Pending changes are never replaced.
  ///
  /// - Parameters:
  ///   - paths: the references to follow; none means every reference field of whatever is reached.
  ///   - depth: how many steps of them, at most `prefetchDepthLimit`.
  /// - Returns: how much was reached, and what could not be had: under `.local`, all that isn't here.
  /// - Throws: `BothyError` `invalidQuery` for a path that isn't valid or is too long, `BothyError`.
  @discardableResult
  package func prefetch(
    _ query: AnyQuery, including paths: [ReferencePath] = [], depth: Int = SyncedStore.prefetchDepthLimit,
    options: RequestOptions = RequestOptions()
  ) async throws -> Prefetch {
    let limit = Self.prefetchDepthLimit
    guard (0...limit).contains(depth), paths.allSatisfy({ $0.steps.count <= limit }) else {
      throw BothyError(.invalidQuery, "A prefetch follows at most \(limit) steps of references.")
    }
    var options = options
    let policy = options.readPolicy ?? governor.readPolicy
    options.readPolicy = policy == .local && options.readPolicy == nil ? .remoteElseLocal : policy
    let first = try await fetchResult(query, options: options).records
    var prefetch = Prefetch(records: Set(first.map(\.recordID)))
    if paths.isEmpty {
      try await follow(first, depth, options, &prefetch)
    } else {
      for path in paths { try await follow(first, path.steps.prefix(depth), options, &prefetch) }
    }
    return prefetch
  }

  private func follow(
    _ start: [AnyRecord], _ depth: Int, _ options: RequestOptions, _ prefetch: inout Prefetch
  ) async throws {
    var reached = start
    for _ in 0..<depth {
      var targets: [RecordID] = []
      for record in reached {
        for field in store.schema[record.type]?.fields ?? [] {
          targets += field.targets(of: record[field.name])
        }
      }
      reached = try await records(targets.filter { !prefetch.records.contains($0) }, options, &prefetch)
      if reached.isEmpty { return }
    }
  }

  private func follow(
    _ start: [AnyRecord], _ steps: ArraySlice<ReferencePath.Step>, _ options: RequestOptions,
    _ prefetch: inout Prefetch
  ) async throws {
    var reached = start
    for step in steps {
      switch step {
      case .field(let name):
        var targets: [RecordID] = []
        for record in reached {
          guard let field = store.schema[record.type]?[name], field.kind.target != nil else {
            throw BothyError(.invalidQuery, "\(record.type).\(name) isn't a reference and can't be followed.")
          }
          targets += field.targets(of: record[field.name])
        }
        reached = try await records(targets, options, &prefetch)
      case .records(let type, let field):
        let ids = Set(reached.map(\.id)).sorted()
        guard !ids.isEmpty else { return }
        reached = []
        // Within what one condition may hold.
        for start in stride(from: 0, to: ids.count, by: 500) {
          let some = ids[start..<min(start + 500, ids.count)]
          let condition = Self.refers(field, of: store.schema[type], to: some)
          reached += try await fetchResult(AnyQuery(type, where: condition), options: options).records
        }
        prefetch.records.formUnion(reached.map(\.recordID))
      }
    }
  }

  private static func refers(_ field: String, of type: TypeSchema?, to ids: ArraySlice<String>)
    -> ConditionTree
  {
    if case .references? = type?[field]?.kind { return .or(ids.map { .includes(field: field, $0) }) }
    return .oneOf(field: field, ids.map { .text($0) })
  }

  /// Those of the records that can be had; the others are noted as missing.
  private func records(
    _ ids: [RecordID], _ options: RequestOptions, _ prefetch: inout Prefetch
  ) async throws -> [AnyRecord] {
    let wanted = Set(ids)
    var own = options
    // Local records need not be requested again, unless the call says so.
    if own.readPolicy == nil || own.readPolicy == .remoteElseLocal { own.readPolicy = .localElseRemote }
    do { try await bring(Array(wanted), own) } catch let error as BothyError where error.code == .unreachable
    {
      if options.readPolicy == .remote { throw error }
    }
    let found = try await store.read { transaction in try wanted.compactMap { try transaction.record($0) } }
    prefetch.records.formUnion(found.map(\.recordID))
    prefetch.missing.formUnion(wanted.subtracting(found.map(\.recordID)))
    return found
  }
}
