internal import Synchronization

/// Reading resources.
extension ResourceCache {
  /// Returns the resource from the first place that the policy allows.
  ///
  /// ```swift
  /// let now = try await cache.value(try tiles.key(zoom: 16, x: 10472, y: 22982), priority: .visible)
  /// draw(now)
  /// ```
  ///
  /// A read from memory costs less than a microsecond and does not suspend. A read from disk runs on a thread of the
  /// cache's. Otherwise the cache sends one request, which all simultaneous readers of the resource share. A cancelled
  /// reader leaves, and the last one cancels the request. If a stored copy may be used instead, a reader waits for as
  /// long as the limits of the source say (`patienceWithCopy`), and then receives the copy.
  ///
  /// - Returns: exactly one result. It may say that the resource does not exist (`isAbsent`), and says if it is fresh.
  /// - Throws: `BothyError`: `.notCached` under `.local` without an entry, `.offline` without a network, `.unreachable`
  ///   or `.timedOut` without a response. `.refused` for a status that isn't a resource. `unknownSource` for a key of
  ///   no registered source, and `sourceConflict` if the disk has entries of another source under its id. A failure
  ///   isn't stored, and the next read tries again.
  public func value(
    _ key: ResourceKey, policy: ReadPolicy = .localElseRemote, priority: ResourceCache.Priority = .normal
  ) async throws(BothyError) -> CachedResource {
    try await value(key, ResourceCache.Options(policy: policy, priority: priority))
  }

  /// Returns the resource, with all options of one read.
  ///
  /// Costs and throws as `value(_:policy:priority:)`. Readers with different `fields` do not share a request.
  ///
  /// ```swift
  /// let options = ResourceCache.Options(priority: .visible, expiresAt: 1_800_000_000_000)
  /// let now = try await cache.value(try api.key(path: "menu.json"), options)
  /// ```
  public func value(_ key: ResourceKey, _ options: ResourceCache.Options) async throws(BothyError)
    -> CachedResource
  {
    try await read(try demand(key, options)).resource
  }

  /// Returns the resource if memory alone suffices for `value` to return it as fresh, else `nil`.
  ///
  /// It counts as read only if it is returned. The method waits only for a lock that is held for less than a
  /// microsecond.
  package func valueAtOnce(_ key: ResourceKey, _ options: ResourceCache.Options) -> CachedResource? {
    guard !options.ignoresStored, !state.withLock({ $0.isClosed }),
      let demand = try? demand(key, options)
    else { return nil }
    let found = lookInMemory(demand, at: clock.wall()) { use in
      ReadPlan(options.policy, stored: use, hasNetwork: true) == .serve(nil)
    }
    return found.map { serve(key, $0, nil) }
  }

  /// Returns the stored entry at once, if one exists, then the network's response if it is better.
  ///
  /// Nothing is read before the first iteration. The sequence has one or two values: a fresh entry is the only one.
  /// After a 304, the second value has the stored bytes again, as fresh. If the network fails after the first value,
  /// the sequence ends with the error. Cancelling the task while it waits cancels the refresh. Each iteration reads
  /// again.
  ///
  /// - Throws: on iteration, the errors of `value(_:policy:priority:)`.
  public func values(
    _ key: ResourceKey, policy: ReadPolicy = .localThenRemote, priority: ResourceCache.Priority = .normal
  ) -> some AsyncSequence<CachedResource, BothyError> & Sendable {
    values(key, ResourceCache.Options(policy: policy, priority: priority))
  }

  package func values(_ key: ResourceKey, _ options: ResourceCache.Options) -> ResourceReadings {
    ResourceReadings(cache: self, key: key, options: options)
  }

  /// Returns the states to show for the resource: loading, then the values of `values` or the failure.
  ///
  /// `loading` is left out if memory has the resource. The sequence never throws and ends after the last state. A
  /// failed refresh repeats the loaded resource, whose `staleReason` has the error.
  ///
  /// ```swift
  /// for await state in cache.states(try api.key(path: "photo.jpg")) {
  ///   if case .loaded(let photo) = state { draw(photo) }
  /// }
  /// ```
  public func states(
    _ key: ResourceKey, policy: ReadPolicy = .localThenRemote, priority: ResourceCache.Priority = .visible
  ) -> some AsyncSequence<ResourceState, Never> & Sendable {
    ResourceStates(
      cache: self, readings: values(key, ResourceCache.Options(policy: policy, priority: priority)), key: key)
  }

  /// A result, and the refresh that runs in the background.
  struct Reading: Sendable {
    var resource: CachedResource
    var refresh: Task<Result<CachedResource, BothyError>, Never>?
  }

  func read(_ demand: Demand) async throws(BothyError) -> Reading {
    let (isClosed, isSuspended) = state.withLock { ($0.isClosed, $0.isSuspended) }
    if isClosed { throw .closed(demand.key) }
    let policy = demand.options.policy
    var found: Found?
    var failure: (any Error)?
    let ignoresStored = demand.options.ignoresStored && policy != .local
    if !ignoresStored {
      found = lookInMemory(demand, at: clock.wall())
      if found == nil {
        do { found = try await lookUp(demand) } catch {
          if let conflict = error as? BothyError, conflict.code == .sourceConflict { throw conflict }
          failure = error
        }
        if found == nil { board.count(demand.key.source) { $0.misses += 1 } }
      }
    }
    found = await allowingForPins(found, demand)
    // Without a stored entry the request is sent anyway, because a loader can be wrong about the network.
    let isAway = network.isKnownAway && found?.use.isUsableOnError == true
    let isAtOnce = found?.isPinned == true || demand.isOnScreen
    let plan = ReadPlan(
      policy, stored: found?.use,
      hasNetwork: fetcher != nil && !isSuspended && !isAway && demand.source.container?.reader == nil,
      isAtOnce: isAtOnce,
      ignoresStored: ignoresStored)
    switch plan {
    case .serve(let reason):
      guard let found else { throw nothing(demand, .notCached, failure) }
      return Reading(resource: serve(demand.key, found, reason))
    case .serveAndRefresh:
      guard let found else { throw nothing(demand, .notCached, failure) }
      return Reading(resource: serve(demand.key, found, .refreshing), refresh: refresh(demand))
    case .fail(let code): throw nothing(demand, code, failure)
    case .request(let isConditional, let mayFallBack):
      var demand = demand
      demand.isConditional = isConditional
      demand.isKnownMissing = !ignoresStored && found == nil && failure == nil
      guard mayFallBack, let found else { return Reading(resource: try await request(demand)) }
      return try await request(demand, besides: found)
    }
  }

  /// Requests the resource, and returns the stored entry if the request fails or takes too long. The request then goes
  /// on in the background.
  private func request(_ demand: Demand, besides found: Found) async throws(BothyError) -> Reading {
    let wait = Wait<Result<CachedResource, BothyError>?>()
    var demand = demand
    demand.hasFallback = true
    demand.isBehind = { wait.hasEnded }
    let limits = demand.source.limits
    let patience = demand.options.waitsForEnd ? nil : limits.patienceWithCopy
    let deadline = patience.map { $0 + limits.timeout * Self.refreshDeadline }
    let (key, work) = (demand.key, demand)
    let task = Task<Result<CachedResource, BothyError>, Never> {
      let result = await self.request(work, within: deadline)
      wait.end(with: .success(result))
      return result
    }
    let timer = patience.map { patience in
      Task { [clock] in
        // The sleep is cancelled when the response comes first.
        if (try? await clock.sleep(patience)) != nil { wait.end(with: .success(nil)) }
      }
    }
    defer { timer?.cancel() }
    let result: Result<CachedResource, BothyError>?
    do { result = try await wait.value { task.cancel() } } catch {
      throw BothyError(LoadFailure.cancelled, key)
    }
    switch result {
    case .success(let resource)?: return Reading(resource: resource)
    case .failure(let error)?:
      if error.code == .cancelled { throw error }
      return Reading(resource: serve(key, found, found.use.isFresh ? nil : .refreshFailed(error)))
    case nil:
      follow(task)
      return Reading(
        resource: serve(key, found, found.use.isFresh ? nil : .refreshing), refresh: task)
    }
  }

  private func serve(_ key: ResourceKey, _ found: Found, _ reason: CachedResource.StaleReason?)
    -> CachedResource
  {
    if reason != nil || found.stored.isAbsent {
      board.count(key.source) { counters in
        if reason != nil { counters.stale += 1 }
        if found.stored.isAbsent { counters.absent += 1 }
      }
    }
    return found.resource(key, reason)
  }

  private func nothing(_ demand: Demand, _ code: BothyError.Code, _ failure: (any Error)?) -> BothyError {
    let key = demand.key
    if let failure {
      return BothyError(.storage, "The cache's disk failed while it looked for \(key): \(failure)")
    }
    if code == .notCached {
      return BothyError(code, "\(key) is not in the cache. Read it under another policy to download it.")
    }
    return BothyError(code, "\(key) can't be downloaded. \(remedyOffline(demand))")
  }

  /// The reason why a read may send no request, and the way out of it.
  private func remedyOffline(_ demand: Demand) -> String {
    if isNetworkSuspended { return "The cache's network is suspended: call `resumeNetwork()`." }
    if fetcher == nil { return "The cache has no network: open it with a loader, such as `.system`." }
    let isFile = demand.source.container?.reader != nil
    let why = isFile ? "Its source is a file on this device" : "The device has no network"
    return "\(why): read it under another policy."
  }

  /// The timeouts of the source that a refresh without waiting readers may take, including queues and slow bodies.
  private static let refreshDeadline = 3

  /// Requests the resource in a task of its own. Unless the policy is `localThenRemote`, it has low priority and a
  /// deadline.
  private func refresh(_ demand: Demand) -> Task<Result<CachedResource, BothyError>, Never> {
    var demand = demand
    demand.isConditional = true
    demand.hasFallback = true
    demand.isBehind = { true }
    var deadline: Duration?
    if demand.options.policy != .localThenRemote {
      demand.options.priority = .background
      deadline = demand.source.limits.timeout * Self.refreshDeadline
    }
    let (work, limit) = (demand, deadline)
    let task = Task { await self.request(work, within: limit) }
    follow(task)
    return task
  }

  /// Notes a request that no reader waits for, so that `close` ends it and waits for it.
  private func follow(_ task: Task<Result<CachedResource, BothyError>, Never>) {
    let isClosed = state.withLock { state -> Bool in
      if state.isClosed { return true }
      state.nextRefresh += 1
      let id = state.nextRefresh
      // The task starts under the lock, so that it can't end before its entry exists.
      state.refreshes[id] = Task {
        _ = await withTaskCancellationHandler {
          await task.value
        } onCancel: {
          task.cancel()
        }
        self.state.withLock { _ = $0.refreshes.removeValue(forKey: id) }
      }
      return false
    }
    if isClosed { task.cancel() }
  }

  private func request(_ demand: Demand, within limit: Duration?) async -> Result<CachedResource, BothyError>
  {
    await withTaskGroup(of: Result<CachedResource, BothyError>.self) { group in
      group.addTask {
        do throws(BothyError) { return .success(try await self.request(demand)) } catch {
          return .failure(error)
        }
      }
      if let limit {
        group.addTask { [clock] in
          // The sleep is cancelled when the response arrives.
          try? await clock.sleep(limit)
          return .failure(
            BothyError(.timedOut, "\(demand.key): the refresh took longer than \(limit), and was called off.")
          )
        }
      }
      let first = await group.next()
      group.cancelAll()
      return first ?? .failure(BothyError(.cancelled, "\(demand.key) was not asked for."))
    }
  }
}
