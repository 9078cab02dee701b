internal import Foundation
internal import HTTPTypes
internal import Synchronization

/// Requests to the server: one for all simultaneous readers, and the effect of its response on the stored entry.
extension ResourceCache {
  /// The key by which readers share a request. The type to which a reader decodes the bytes isn't part of it.
  struct CoalescingKey: Hashable, Sendable {
    var key: ResourceKey
    var fields: HTTPFields
    /// The conditions for bytes that the readers have themselves, to whom a 304 suffices.
    var conditions: HTTPFields
    /// The place of a new version. One that is only on another reader's stage would be missing on this reader's.
    var place: EntryStage?
    /// The object that compares the responses of several reads, none of which it may miss.
    var judge: ObjectIdentifier?

    init(_ demand: Demand) {
      key = demand.key
      fields = demand.options.fields
      conditions = demand.options.held.map { Validation.fields(for: $0) } ?? [:]
      place = demand.options.stage
      judge = demand.options.judge
    }
  }

  /// The end of a request, for all its readers.
  enum FetchOutcome: Sendable {
    case resource(CachedResource, isNew: Bool)
    case failed(BothyError)
  }

  /// Returns the server's response for a resource.
  ///
  /// - Throws: `.cancelled` if the calling task is cancelled. Other readers of the request still receive its response.
  func request(_ demand: Demand) async throws(BothyError) -> CachedResource {
    switch try await requestOutcome(demand) {
    case .resource(let resource, _): return resource
    case .failed(let error): throw error
    }
  }

  func requestOutcome(_ demand: Demand) async throws(BothyError) -> FetchOutcome {
    if state.withLock({ $0.isClosed }) { throw .closed(demand.key) }
    guard let fetcher else {
      throw BothyError(
        .offline,
        "The cache has no network to load \(demand.key) from. Open it with a loader, such as `.system`.")
    }
    let key = demand.key
    let name = CoalescingKey(demand)
    let reader = readers.enter(name, demand.options.typed)
    defer { readers.leave(name, reader) }
    let outcome: FetchOutcome
    do throws(LoadFailure) {
      outcome = try await coalescer.value(
        for: name, priority: demand.options.priority, progress: demand.options.progress,
        joined: { [board] in board.count(key.source) { $0.coalesced += 1 } }
      ) { inFlight async throws(LoadFailure) in
        self.loads.wrappingAdd(1, ordering: .acquiringAndReleasing)
        do throws(LoadFailure) {
          let outcome = try await self.load(demand, fetcher, inFlight)
          await self.loadEnded(demand)
          return outcome
        } catch {
          await self.loadEnded(demand)
          throw error
        }
      }
    } catch {
      throw BothyError(error, key)
    }
    guard case .resource(var resource, let isNew) = outcome else { return outcome }
    (resource.isShared, resource.request) = (resource.request?.isJoined ?? false, nil)
    if let typed = demand.options.typed, !resource.isAbsent {
      // The request may belong to another reader, which decodes the bytes to another type.
      do { _ = try decodedValue(of: resource.stored, key, typed) } catch {
        return .failed(Self.undecodable(key, typed, error, status: resource.metadata.status))
      }
    }
    return .resource(resource, isNew: isNew)
  }

  private static func undecodable(
    _ key: ResourceKey, _ typed: TypedDemand, _ error: any Error, status: Int
  ) -> BothyError {
    BothyError(.undecodable, "\(key) does not decode to \(typed.type): \(error)", status: status)
  }

  /// Loads the resource for one in-flight request.
  private func load(
    _ demand: Demand, _ fetcher: Fetcher, _ inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchOutcome {
    let key = demand.key
    hub.send(.requested(key))
    do throws(LoadFailure) {
      let outcome = try await exchange(demand, fetcher, inFlight)
      switch outcome {
      case .failed(let error): noteFailure(key, error)
      case .resource(var resource, let isNew):
        resource.request = inFlight
        return .resource(resource, isNew: isNew)
      }
      return outcome
    } catch {
      if error.reason == .cancelled {
        hub.send(.cancelled(key))
      } else {
        noteFailure(key, BothyError(error, key))
      }
      throw error
    }
  }

  private func noteFailure(_ key: ResourceKey, _ error: BothyError) {
    board.count(key.source) { $0.failed += 1 }
    hub.send(.failed(key, error))
  }

  private func exchange(
    _ demand: Demand, _ fetcher: Fetcher, _ inFlight: InFlightRequest
  ) async throws(LoadFailure) -> FetchOutcome {
    var demand = demand
    var namesHeld = true
    while true {
      let (ticket, reading) = (generations.begin(), replacements.begin())
      defer {
        generations.end(ticket)
        replacements.end(reading)
      }
      let stored = demand.isConditional ? await storedForCondition(demand) : nil
      demand.reading = reading
      // A reload looks at nothing that is stored, and replaces it.
      demand.known = stored?.entry.metadata.receivedAt
      var fields = demand.requestFields
      let held = stored == nil && namesHeld ? demand.options.held : nil
      let conditions = (stored?.entry.metadata ?? held).map { Validation.fields(for: $0) } ?? [:]
      for field in conditions { fields[field.name] = field.value }
      let fetched = try await demand.fetched(demand.order(fields), by: fetcher, for: inFlight)
      var answer = ReceivedResponse(
        request: demand.varyingFields, status: fetched.status, fields: fetched.fields, body: fetched.body,
        requestedAt: fetched.requestedAt, receivedAt: fetched.receivedAt)
      answer.wasCoded = fetched.wasCoded
      if let held, !conditions.isEmpty, let outcome = confirmation(of: held, by: answer, demand) {
        return outcome
      }
      let current = stored.flatMap { generations.isCurrent(ticket, demand.key) ? $0 : nil }
      let isUsable =
        current.map {
          EntryState(of: $0.entry.metadata, under: demand.rule, at: clock.wall()).isUsableOnError
        } ?? false
      let (objection, known, isPinned) = await objection(to: fetched, current, demand)
      if objection == nil || objection == .gone,
        let failure = await refusal(of: answer, fetched.url, known, demand)
      {
        return .failed(BothyError(failure, demand.key))
      }
      let evaluation = ResponseEvaluator(
        of: answer, stored: current?.entry.metadata, rule: demand.rule, expectation: demand.source.content,
        objection: objection, isPinned: isPinned, expiresAt: demand.options.expiresAt,
        isStoredUsable: isUsable, decodes: demand.source.container == nil)
      if case .requestAgain = evaluation {
        if conditions.isEmpty { return .failed(Self.phantom(demand.key)) }
        (demand.isConditional, namesHeld) = (false, false)
        continue
      }
      demand.replaced = generations.isCurrent(ticket, demand.key) ? known : nil
      return await apply(evaluation, of: answer, stored: known, demand, ticket)
    }
  }

  /// Returns the outcome of a 304 that confirms the bytes of the caller, or `nil` for another response.
  private func confirmation(of held: EntryMetadata, by answer: ReceivedResponse, _ demand: Demand)
    -> FetchOutcome?
  {
    guard AnswerKind(status: answer.status) == .notModified,
      var renewed = Validation.renewed(
        held, by: answer.fields, requestedAt: answer.requestedAt, receivedAt: answer.receivedAt,
        rule: demand.rule)
    else { return nil }
    renewed.status = answer.status
    board.count(demand.key.source) { $0.confirmed += 1 }
    hub.send(.confirmed(demand.key))
    return .resource(
      CachedResource(
        key: demand.key, stored: StoredEntry(CacheEntry(metadata: renewed, body: Data())), origin: .confirmed,
        freshness: .fresh, age: 0), isNew: false)
  }

  /// Returns the reason why a response may not replace the stored entry, that entry, and true if it is pinned or the
  /// caller has the bytes itself.
  ///
  /// Checks the pin only if it makes a difference.
  private func objection(
    to answer: FetchedResponse, _ known: StoredEntry?, _ demand: Demand
  ) async -> (ContentMismatch?, stored: StoredEntry?, isPinned: Bool) {
    guard AnswerKind(status: answer.status) != .notModified else { return (nil, known, false) }
    var stored = known
    if stored == nil, !demand.isKnownMissing { stored = await storedForCondition(demand, orEarlier: true) }
    var (isPinned, evictsGone) = (false, false)
    let isHeld = demand.options.held != nil
    if stored != nil, let disk, !isHeld, ReplacementRule.needsPin(answer) {
      let key = demand.key
      // If the disk can't say whether the entry is pinned, it counts as pinned.
      isPinned = (try? await disk.read { try $0.isPinned(key) }) ?? true
      if isPinned, let holder = demand.options.evictingHolder {
        evictsGone = (try? await disk.read { try !$0.isPinned(key, besides: holder) }) ?? false  // likewise
      }
    }
    var rule = ReplacementRule(
      demand.key, in: demand.source, stored: stored, isPinned: isPinned, evictsGone: evictsGone,
      isHeld: isHeld)
    if rule.needsNeighbor(answer) { rule.neighbor = await storedNeighbor(of: demand.key) }
    return (rule.objection(to: answer, asked: demand.order([:]).urls), stored, isPinned || isHeld)
  }

  /// Returns a failure if the caller's `admits` rejects the response, else `nil`.
  private func refusal(
    of answer: ReceivedResponse, _ url: String, _ stored: StoredEntry?, _ demand: Demand
  ) async -> ResponseError? {
    guard let admits = demand.options.admits,
      [.body, .negative].contains(AnswerKind(status: answer.status))
    else { return nil }
    let candidate = ReplacementCandidate(
      key: demand.key, status: answer.status, fields: answer.fields, body: answer.body, stored: stored?.entry,
      strangeHost: ReplacementRule.strangeHost(url, demand.order([:]).urls))
    if await admits(candidate) { return nil }
    return ResponseError(status: answer.status, isTransient: false, mismatch: .bytes)
  }

  /// Returns the entry that a conditional request compares with: the one stored for this request, with its bytes.
  ///
  /// - Parameter orEarlier: true for the entry that a response would replace, which may be for the source's earlier
  ///   fields. A request with other fields isn't compared with it.
  private func storedForCondition(_ demand: Demand, orEarlier: Bool = false) async -> StoredEntry? {
    let (key, typed, request) = (demand.key, demand.options.typed, demand.varyingFields)
    let known = key.variants.compactMap { memory.look($0) }
    for exactly in [true, false] {
      let stored = known.first {
        $0.answers(request, exactly: exactly) && isAcceptable($0, key, typed)
      }
      if let stored { return stored }
    }
    // A disk that fails here, or has entries of another source, causes an unconditional request.
    let found = try? await disk?.read { store -> VariantSearch.Found? in
      let search = try VariantSearch(demand, in: store)
      return search.isEarlier && !orEarlier ? nil : search.answer
    }
    if let answer = found ?? nil, isAcceptable(answer.stored, key, typed) {
      return answer.stored
    }
    // A container that can't be read has no entry to compare with.
    guard let answer = try? await bundled.answer(key, for: request, before: demand.source.container?.reader),
      isAcceptable(answer.stored, key, typed)
    else { return nil }
    return answer.stored
  }

  private func apply(
    _ evaluation: ResponseEvaluator, of answer: ReceivedResponse, stored: StoredEntry?, _ demand: Demand,
    _ ticket: InvalidationTracker.Ticket
  ) async -> FetchOutcome {
    let key = demand.key
    switch evaluation {
    case .store(let metadata):
      var metadata = metadata
      let isNegative = AnswerKind.isNegative(metadata.status)
      let body = isNegative && !demand.rule.keepsEveryStatus ? Data() : answer.body
      board.count(key.source) { $0.bytesLoaded += Int64(body.count) }
      let types = isNegative ? [] : readers.types(CoalescingKey(demand))
      let bare = StoredEntry(CacheEntry(metadata: metadata, body: body))
      do {
        let typed = try reading(bare, key, as: types)
        metadata.valueType = typed?.type
        metadata.formatVersion = typed?.version ?? 0
      } catch {
        // A reader of the bytes alone receives them. The stored entry does not change.
        noteFailure(key, error)
        return .resource(
          CachedResource(
            key: key, stored: bare, origin: .network, freshness: .fresh, age: 0,
            storage: .notStored(.undecodable)), isNew: true)
      }
      let entry = CacheEntry(metadata: metadata, body: body)
      let wasSame = stored.map { $0.entry.body == body && $0.isAbsent == isNegative }
      if wasSame == false, stored?.isAbsent == false {
        if let stage = demand.options.stage {
          return await keepStaged(key, entry, stage, known: demand.known, ticket)
        }
      }
      if await mustBeConfirmed(demand, entry) {
        return await keepConfirmed(key, entry, known: demand.known, ticket)
      }
      return await keep(key, entry, wasSame: wasSame, origin: .network, known: demand.known, ticket)
    case .renew(let metadata):
      guard let stored else { return .failed(Self.phantom(key)) }
      return await keep(
        key, CacheEntry(metadata: metadata, body: stored.entry.body), wasSame: true, origin: .confirmed,
        mayWait: (demand.options.sharesConfirmation || loads.load(ordering: .relaxed) > 1)
          && isUnreplaced(demand), ticket)
    case .release(let metadata):
      guard let stored else { return .failed(Self.phantom(key)) }
      let entry = CacheEntry(metadata: metadata, body: stored.entry.body)
      // If the disk can't say whether the entry is pinned, it counts as pinned, and stays.
      if let disk, (try? await disk.read({ try $0.isPinned(key) })) ?? true {
        return await keep(key, entry, wasSame: true, origin: .confirmed, ticket)
      }
      try? await dropStored([key])  // as below
      return handOut(key, entry, .forbidden(.answerForbids), origin: .confirmed)
    case .requestAgain: return .failed(Self.phantom(key))
    case .handOut(let metadata, let reason, let dropsStored):
      // If the disk fails here, it keeps the outdated entry. The response itself is good, and the next read requests it
      // again.
      if dropsStored { try? await dropStored([key]) }
      board.count(key.source) { $0.bytesLoaded += Int64(answer.body.count) }
      return handOut(key, CacheEntry(metadata: metadata, body: answer.body), .forbidden(reason))
    case .fail(let failure): return .failed(BothyError(failure, key))
    }
  }

  /// Returns the first of the types that new bytes decode to, or `nil` if all readers read the bytes alone.
  private func reading(
    _ stored: StoredEntry, _ key: ResourceKey, as types: [TypedDemand]
  ) throws(BothyError) -> TypedDemand? {
    var failure: BothyError?
    for typed in types {
      do {
        _ = try decodedValue(of: stored, key, typed)
        return typed
      } catch {
        failure = failure ?? Self.undecodable(key, typed, error, status: stored.entry.metadata.status)
      }
    }
    if let failure { throw failure }
    return nil
  }

  private static func phantom(_ key: ResourceKey) -> BothyError {
    BothyError(
      .refused, "The server says that \(key) has not changed, though it was asked without a condition.",
      status: 304)
  }
}
