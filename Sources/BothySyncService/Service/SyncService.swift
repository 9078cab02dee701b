import BothyStore

/// The server's rules without HTTP: permissions, the application of operations, conflicts, and the changes for a
/// device. `bothy serve` and tests run this code.
///
/// Each call is one transaction, unless it states otherwise, and may be made from any task. Errors of the storage are
/// rethrown, in addition to those that a call names. A space needs no set-up: its first write creates it, and reads of
/// a missing one find nothing.
///
/// ```swift
/// let storage = try SQLiteServerStorage(at: "server.sqlite")
/// let rules = AccessRules(schema: [Todo.self])
/// let service = SyncService(storage: storage, rules: rules) { Int64(Date().timeIntervalSince1970 * 1000) }
/// let found = try await service.record(space: "home", user: Caller("ann"), RecordID(type: "Todo", id: "1"))
/// ```
public struct SyncService: Sendable {
  /// The storage of records, lists and outcomes.
  ///
  /// Several services may share it, with rules of their own. The service never closes it.
  public let storage: any ServerStorage
  /// The limits, schema and permissions. Setting them affects later calls of this value, and no copies of it.
  ///
  /// Stored records aren't checked again.
  public var rules: AccessRules
  /// The vault with the bytes of blobs; `nil` on a server without blobs.
  ///
  /// Without one, calls about blobs throw `BlobError` `unsupported`, and records may still name blobs.
  public let blobs: (any BlobFileStorage)?
  /// The server's clock, in milliseconds since 1970.
  let now: @Sendable () -> Int64
  /// The memory of all answers, for a service that makes one answer.
  var room: AnswerRoom?

  /// Makes a service. Opens and reads nothing.
  ///
  /// - Parameters:
  ///   - storage: the storage of all spaces.
  ///   - rules: by default without a schema, so that every type, field and user is accepted.
  ///   - blobs: `nil` for a server that refuses blobs.
  ///   - now: the server's clock, in milliseconds since 1970. It is called on any thread.
  public init(
    storage: any ServerStorage, rules: AccessRules = AccessRules(), blobs: (any BlobFileStorage)? = nil,
    now: @escaping @Sendable () -> Int64
  ) {
    self.blobs = blobs
    self.storage = storage
    self.rules = rules
    self.now = now
  }

  /// Answers one exchange: first the operations in order, then a page for each pull, in one transaction.
  ///
  /// An operation with a known id isn't applied again, and gets its first outcome. Conflicts and rejections are
  /// outcomes, not errors. With a rule for writes, the rule is asked first, outside of the transaction. That costs one
  /// read more, and at most four calls of the rule. A request that only pulls writes nothing. All pages together have
  /// at most the smaller of the request's and the rules' limit, and `more` if others follow.
  ///
  /// - Throws: `SyncServiceError` for a request that is refused as a whole, and `WriteRuleUnavailable` if the rule
  ///   didn't decide. Otherwise the storage's errors. Nothing was changed, unless a connection was lost during the
  ///   commit. The request may be sent again with equal ids.
  public func sync(space: String, user: Caller, _ request: SyncRequest) async throws -> SyncResponse {
    try check(request, from: user)
    let wanted = try await wantedBlobs(in: space)
    var request = request
    request.operations = request.operations.map(rules.canonical)
    var response = try await answer(request, space, user)
    response.wantedBlobs = wanted
    return response
  }

  private func answer(
    _ request: SyncRequest, _ space: String, _ user: Caller
  ) async throws -> SyncResponse {
    let now = now()
    if request.operations.isEmpty && request.oldestOpen == nil {
      return try await storage.read(space: space) { storage in
        try check(request, space, storage)
        var response = SyncResponse(serverTime: now)
        response.pages = try pages(request, user, storage, leavingOut: [])
        tell(&response, history(of: space, storage), user)
        return response
      }
    }
    try await keepBlobs(namedBy: request.operations, in: space)
    let response = try await withStagedSecrets(of: request, in: space, user) { staged in
      try await write(request, staged, space, user, at: now)
    }
    await removeSecrets(of: request.deleted(response.outcomes), in: space)
    return response
  }

  /// Decides the operations, stores what they change, and reads the pages, in one transaction.
  private func write(
    _ request: SyncRequest, _ staged: (any StagedSecrets)?, _ space: String, _ user: Caller,
    at now: Int64
  ) async throws -> SyncResponse {
    try await deciding(request.operations, space, user, at: now) { storage, decisions in
      try check(request, space, storage)
      return try decide(request, user, now, storage, decisions).batch.undecided
    } write: { storage, decisions -> WriteAttempt<SyncResponse> in
      try check(request, space, storage)
      var response = SyncResponse(serverTime: now)
      let decided = try decide(request, user, now, storage, completing: storage, decisions)
      guard decided.batch.undecided.isEmpty else { return .undecided(decided.batch.undecided) }
      let reported = try store(decided, at: now, in: storage)
      response.outcomes = answers(decided, to: request)
      if decided.outcomes.contains(where: \.isDuplicate) { storage.confirm() }
      try receiveSecrets(of: request, decided.outcomes, staged, space, upTo: storage.head)
      if let oldest = request.oldestOpen {
        try storage.forget(
          device: decided.identity.device, before: oldest, rememberedBefore: now - Self.latest)
      }
      response.pages = try pages(request, user, storage, leavingOut: reported)
      tell(&response, history(of: space, storage), user)
      return .done(response)
    }
  }

  private func check(_ request: SyncRequest, from user: Caller) throws {
    if let owner = request.user, let name = user.name, !owner.hasSameBytes(as: name) {
      throw SyncServiceError(
        .wrongPrincipal,
        "This is the work of '\(owner)', and the token is that of '\(name)'. Nothing of it was taken.")
    }
    guard request.schemaVersion >= rules.minimumSchemaVersion else {
      throw SyncServiceError(
        .updateRequired,
        "This server needs schema version \(rules.minimumSchemaVersion); the app has \(request.schemaVersion). "
          + "Update the app; its pending changes stay on the device until then.")
    }
    guard request.operations.count <= rules.operationLimit else {
      throw SyncServiceError(
        .tooManyOperations,
        "\(request.operations.count) operations in one request; this server takes \(rules.operationLimit).")
    }
    let secrets = request.operations.reduce(0) { $0.addingClamped($1.secrets.values.count) }
    guard secrets <= FixedLimits.secretsOfRequest else {
      throw SyncServiceError(
        .tooManyOperations,
        "\(secrets) values of sensitive fields in one request; this server takes \(FixedLimits.secretsOfRequest)."
      )
    }
    guard Set(request.operations.map(\.id)).count == request.operations.count else {
      throw SyncServiceError(.badRequest, "Two operations of the request have the same id.")
    }
    guard (1...FixedLimits.deviceName).contains(request.device.utf8.count), !request.device.utf8.contains(0)
    else {
      throw SyncServiceError(
        .badRequest, "A device's id has 1 to \(FixedLimits.deviceName) bytes, none of them zero.")
    }
    let isNamed = request.operations.allSatisfy {
      (1...FixedLimits.operationName).contains($0.id.utf8.count) && !$0.id.utf8.contains(0)
    }
    guard isNamed, request.oldestOpen?.utf8.contains(0) != true else {
      throw SyncServiceError(
        .badRequest, "An operation's id has 1 to \(FixedLimits.operationName) bytes, none of them zero.")
    }
    guard request.pulls.count <= rules.pullLimit else {
      throw SyncServiceError(
        .tooManyPulls,
        "\(request.pulls.count) places to pull from in one request; this server takes \(rules.pullLimit). "
          + "Ask for the others in further requests.")
    }
    for pull in request.pulls {
      if let token = pull.cursor, Cursor(token: token) == nil {
        throw SyncServiceError(
          .badCursor,
          "'\(token.prefix(128))' isn't a cursor of this server. Pull without a cursor to start over.")
      }
    }
  }

  // MARK: pages

  private func pages(
    _ request: SyncRequest, _ user: Caller, _ storage: any ServerSnapshot, leavingOut reported: Set<Int64>
  ) throws -> [SyncResponse.Page] {
    let viewer = try viewer(user, in: storage)
    var budget = PageBudget(
      changes: min(request.limit, rules.pageLimit), bytes: answerBytes(for: .changes),
      hidden: rules.hiddenRowLimit)
    return try request.pulls.map { pull in
      let page = try page(pull, of: request.history, viewer, storage, &budget, leavingOut: reported)
      budget.spend(page)
      return page
    }
  }

  /// Makes a page within the budget. `more` is set if it has no room for all changes.
  private func page(
    _ pull: SyncRequest.Pull, of known: ServerHistory?, _ viewer: Viewer, _ storage: any ServerSnapshot,
    _ budget: inout PageBudget, leavingOut reported: Set<Int64>
  ) throws -> SyncResponse.Page {
    let rights = ScopeMark(pull.scope, viewer, rules)
    let mark = rights.text
    var changedTypes: [String] = []
    var start: Int64 = 0
    var reset = pull.cursor == nil
    var isOther = try known.map { try !goesOn($0, history(of: $0.space, storage), storage) } ?? false
    var began: Int64? = storage.head
    if let cursor = pull.cursor.flatMap(Cursor.init(token:)) {
      // A space without writes has no epoch yet. Its cursors are valid in the first epoch, and in no later one.
      let isFirst = cursor.epoch.isEmpty && cursor.position == 0 && !isOther
      let isSameHistory = cursor.epoch == storage.epoch || isFirst
      let isKnown = try storage.has(cursor.position)
      let isUsable =
        isSameHistory && max(cursor.position, cursor.began ?? 0) >= storage.floor && isKnown
      if isUsable, let changed = rights.changed(since: cursor.scopeMark) {
        changedTypes = changed
        start = cursor.position
        began = cursor.began
      } else {
        reset = true
        isOther = isOther || !isSameHistory || !isKnown
      }
    }
    isOther = isOther && reset
    if budget.isSpent {
      let cursor = Cursor(epoch: storage.epoch, position: start, scopeMark: mark, began: began)
      var page = SyncResponse.Page(
        scope: pull.scope, changes: [], outOfScope: [], cursor: cursor.token, more: true, reset: reset)
      page.isOtherHistory = isOther
      page.types = changedTypes
      return page
    }
    let limit = budget.changes
    let found = try visibleChanges(
      after: start, in: pull.scope, viewer, storage, limit: limit, &budget, leavingOut: reported)
    let (departures, readEnd) =
      reset
      ? ([], found.end)
      : try removals(
        after: start, upTo: found.end, from: pull.scope, viewer, storage, limit: limit + 1, &budget)
    let notices = reset ? [] : try notices(for: viewer.user, after: start, storage, limit: limit + 1)
    let positions =
      (found.entries.map(\.position) + departures.map(\.position) + notices.map(\.position)).sorted()
    var position = positions.count > limit ? positions[limit - 1] : storage.head
    if let readEnd { position = min(position, readEnd) }
    if let last = try end(of: notices, storage, bytes: budget.bytes) {
      position = min(position, last)
    }
    let more = position < storage.head
    var changes: [ServerRecord] = []
    changes.reserveCapacity(found.entries.count)
    for entry in found.entries {
      guard entry.position <= position else { break }
      // Tombstones let a device of another history distinguish deleted records from lost ones.
      let isLeftOut = reset && !isOther ? entry.record.isDeleted : reported.contains(entry.position)
      if !isLeftOut { changes.append(entry.record.sent) }
    }
    var page = SyncResponse.Page(
      scope: pull.scope, changes: changes,
      outOfScope: try found.lost.filter { $0.position <= position }.map(\.record.id)
        + gone(
          departures.filter {
            // A device fetches all records of a changed type, so its former readers don't matter.
            $0.position <= position
              && ($0.former == nil ? !reported.contains($0.position) : !changedTypes.contains($0.id.type))
          }, from: pull.scope, viewer, storage),
      cursor: Cursor(
        epoch: storage.epoch, position: position, scopeMark: mark, began: more ? began : nil
      ).token, more: more, reset: reset)
    page.isOtherHistory = isOther
    page.types = changedTypes
    try tell(notices.prefix { $0.position <= position }, after: start, viewer, storage, in: &page)
    return page
  }
}
