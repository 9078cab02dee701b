internal import HTTPTypes
internal import Synchronization

/// Look-ups of stored entries.
extension ResourceCache {
  /// A found entry, with its permitted use at this time.
  struct Found: Sendable {
    var stored: StoredEntry
    var origin: CachedResource.Origin
    var use: EntryState
    /// True if the entry is known to be pinned.
    var isPinned = false

    /// Makes a pinned response to earlier fields of the source stale, whatever its age is.
    mutating func outdate() {
      isPinned = true
      (use.state, use.freshFor) = (.staleIfError, min(0, use.freshFor))
    }

    func resource(_ key: ResourceKey, _ reason: CachedResource.StaleReason?) -> CachedResource {
      CachedResource(
        key: key, stored: stored, origin: origin, freshness: reason.map { .stale($0) } ?? .fresh, age: use.age
      )
    }
  }

  /// One read of a key: its source, its options, and the fields of a request.
  struct Demand: Sendable {
    var key: ResourceKey
    var box: RegisteredSource
    var options: ResourceCache.Options
    var isConditional = true
    /// True if a look-up just found no entry.
    var isKnownMissing = false
    /// True if a stored entry can be returned if the server does not respond. The request then does not wait for the
    /// host.
    var hasFallback = false
    /// The stored entry that the response would replace, also if the request carried no condition.
    var replaced: StoredEntry?
    /// The time at which the bytes came that were stored when the request began, or `nil` without any.
    var known: Int64?
    /// The ticket of `replacements` from the beginning of the request.
    var reading: InvalidationTracker.Ticket?
    /// Returns true if the reader has already received the stored entry.
    var isBehind: @Sendable () -> Bool = { false }

    var source: ResourceSource { box.source }
    var rule: FreshnessRule { options.freshness ?? box.source.freshness }

    /// True if a screen shows the resource.
    var isOnScreen: Bool { options.priority >= .visible }

    /// True for a tile of a map on the screen. Like a pinned entry it is used at any age, whatever its server demands.
    ///
    /// That departs from RFC 9111 §4.2.4 on purpose. An old tile is better than a hole in the map, and the reader learns
    /// that it is stale.
    var isTileOnScreen: Bool {
      if case .tile = key.name { isOnScreen } else { false }
    }

    var requestFields: HTTPFields { fields(over: source.headers) }

    /// The fields that choose among stored responses.
    var varyingFields: HTTPFields { fields(over: box.varyingFields) }

    private func fields(over own: HTTPFields) -> HTTPFields {
      if options.fields.isEmpty { return own }
      var fields = own
      for field in options.fields { fields[field.name] = nil }
      for field in options.fields { fields.append(field) }
      return fields
    }
  }

  func demand(_ key: ResourceKey, _ options: ResourceCache.Options) throws(BothyError) -> Demand {
    guard let box = registry[key.source] else {
      throw BothyError(
        .unknownSource, "No source \"\(key.source)\" is registered. Register it before reading \(key).")
    }
    return Demand(key: key, box: box, options: options)
  }

  /// Looks in memory alone. Counts as read if the permitted use suffices.
  func lookInMemory(
    _ demand: Demand, at now: Int64, if suffices: (EntryState) -> Bool = { _ in true }
  ) -> Found? {
    var use: EntryState?
    let stored = readInMemory(demand.key, at: now) { stored, exactly in
      guard stored.answers(demand.varyingFields, exactly: exactly) else { return false }
      let found = self.use(of: stored.entry.metadata, demand, at: now)
      use = found
      return suffices(found)
    }
    guard let stored, let use, isAcceptable(stored, demand.key, demand.options.typed) else { return nil }
    if let container = demand.source.container, !container.isCurrent(stored.entry.metadata) { return nil }
    return Found(stored: stored, origin: .memory, use: use)
  }

  /// Returns an accepted response in memory under the key: one to an equal request, else the newest in the language that
  /// the request prefers.
  func readInMemory(
    _ key: ResourceKey, at now: Int64, if accepts: (_ stored: StoredEntry, _ exactly: Bool) -> Bool
  ) -> StoredEntry? {
    forgetReplaced()
    let group = key.source.index
    if let stored = memory.read(key, now: now, group: group, if: { accepts($0, true) }) { return stored }
    let count = hasVariants.load(ordering: .relaxed) ? ResourceKey.variantCount : 1
    for variant in 1..<count {
      let place = key.of(variant: variant)
      if let stored = memory.read(place, now: now, group: group, if: { accepts($0, true) }) { return stored }
    }
    var newest: (place: ResourceKey, time: Int64)?
    for variant in 0..<count {
      let place = key.of(variant: variant)
      guard let stored = memory.look(place), stored.isVaried, accepts(stored, false) else { continue }
      let time = stored.entry.metadata.validatedAt
      if newest.map({ $0.time < time }) ?? true { newest = (place, time) }
    }
    guard let newest else { return nil }
    return memory.read(newest.place, now: now, group: group, if: { accepts($0, false) })
  }

  /// Empties memory if another process has replaced or removed entries on the disk, and forgets versions that wait for
  /// other tiles, as older ones.
  ///
  /// Look-ups that have read an entry before put it into memory no more. Costs a look at one number without a change.
  func forgetReplaced() {
    guard let changes = disk?.changes, let number = changes.changed else { return }
    replacements.removeAll(nil)
    hold.forget(nil)
    noteEvicted(memory.evict(to: 0))
    decoded.trim(to: 0)
    changes.note(number)
  }

  /// Looks in memory, on disk and in the bundle. An entry from a slow place is copied into memory.
  ///
  /// An entry that is replaced in the meantime is returned, and not copied.
  ///
  /// - Throws: the error of the disk, if the entry isn't found elsewhere.
  func lookUp(_ demand: Demand) async throws -> Found? {
    let (ticket, reading) = (generations.begin(), replacements.begin())
    defer {
      generations.end(ticket)
      replacements.end(reading)
    }
    if let found = lookInMemory(demand, at: clock.wall()) { return found }
    let key = demand.key
    func isLatest() -> Bool { generations.isCurrent(ticket, key) && replacements.isCurrent(reading, key) }
    let request = demand.varyingFields
    var failure: (any Error)?
    var best: (place: ResourceKey, found: Found)?
    let container = demand.source.container?.reader
    do {
      // Resources of a file on this device aren't stored again.
      if container == nil, let search = try await disk?.read({ try VariantSearch(demand, in: $0) }) {
        if let other = search.other { promote(other.key, other.stored, if: isLatest) }
        if let answer = search.answer {
          best = found(answer.stored, .disk, demand, at: clock.wall()).map { (answer.key, $0) }
          if search.isEarlier { best?.found.outdate() }
        }
      }
    } catch {
      failure = error
    }
    do {
      if container != nil || !bundled.isEmpty, best?.found.use.isFresh != true,
        let answer = try await bundled.answer(key, for: request, before: container),
        answer.stored.entry.metadata.validatedAt > best?.found.stored.entry.metadata.validatedAt ?? .min
      {
        best = found(answer.stored, .bundled, demand, at: clock.wall()).map { (answer.key, $0) } ?? best
      }
    } catch {
      failure = error
    }
    guard let best else {
      if let failure { throw failure }
      return nil
    }
    guard generations.isCurrent(ticket, key) else { return nil }
    promote(best.place, best.found.stored, if: isLatest)
    noteFound(best.place, best.found)
    return best.found
  }

  /// Puts an entry in its place in memory, if it is still the latest one.
  func promote(_ place: ResourceKey, _ stored: StoredEntry, if isLatest: () -> Bool) {
    if place.variant != 0 { hasVariants.store(true, ordering: .relaxed) }
    let evicted = memory.put(
      place, stored, cost: stored.cost, size: stored.entry.body.count, if: isLatest)
    if let evicted { noteEvicted(evicted) }
  }

  private func noteFound(_ place: ResourceKey, _ found: Found) {
    board.count(place.source) { counters in
      if found.origin == .disk { counters.diskHits += 1 } else { counters.bundledHits += 1 }
      counters.bytesServed += Int64(found.stored.entry.body.count)
    }
    if found.origin == .disk { noteUse([place]) }
  }

  /// Notes a use of stored resources, which are evicted later then.
  package func noteUse(_ places: [ResourceKey]) {
    let now = clock.wall()
    var isDue = false
    for place in places where recency.note(place, at: now) { isDue = true }
    // Uses that can't be written are lost. They only determine what to evict first.
    if isDue { Task { try? await self.flush() } }
  }

  private func found(
    _ stored: StoredEntry, _ origin: CachedResource.Origin, _ demand: Demand, at now: Int64
  ) -> Found? {
    guard isAcceptable(stored, demand.key, demand.options.typed) else { return nil }
    return Found(stored: stored, origin: origin, use: use(of: stored.entry.metadata, demand, at: now))
  }

  private func use(
    of metadata: EntryMetadata, _ demand: Demand, at now: Int64, isPinned: Bool = false
  ) -> EntryState {
    let use = EntryState(
      of: metadata, under: demand.rule, at: now, isPinned: isPinned || demand.isTileOnScreen)
    guard demand.options.fields.contains(.cacheControl) else { return use }
    return RequestDirectives(demand.options.fields).restrict(use, age: metadata.age(at: now))
  }

  /// Returns the found entry, with more use allowed if it is pinned. Checks the pin only if it makes a difference.
  func allowingForPins(_ found: Found?, _ demand: Demand) async -> Found? {
    let policy = demand.options.policy
    guard var found, !found.isPinned, !found.use.isUsableAtOnce, policy != .local, let disk else {
      return found
    }
    let decides = policy == .localElseRemote && !demand.isOnScreen
    guard decides || !found.use.isUsableOnError else { return found }
    let key = demand.key
    // If the disk can't say whether the entry is pinned, the server's limits apply.
    guard (try? await disk.read { try $0.isPinned(key) }) == true else { return found }
    found.isPinned = true
    found.use = use(of: found.stored.entry.metadata, demand, at: clock.wall(), isPinned: true)
    return found
  }
}
