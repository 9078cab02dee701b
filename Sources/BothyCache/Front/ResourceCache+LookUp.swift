internal import HTTPTypes

/// Looking for what is stored.
extension ResourceCache {
  /// What was found, and the use that may be made of it now.
  struct Found: Sendable {
    var stored: StoredEntry
    var origin: ResourceOrigin
    var use: Usability

    func resource(_ key: ResourceKey, _ reason: StaleReason?) -> CachedResource {
      CachedResource(
        key: key, stored: stored, origin: origin, freshness: reason.map { .stale($0) } ?? .fresh, age: use.age
      )
    }
  }

  /// One read of a key: its source, its options, and what a request would carry.
  struct Demand: Sendable {
    var key: ResourceKey
    var box: RegisteredSource
    var options: ReadOptions
    var isConditional = true
    /// Whether something else can be handed out if the server does not answer: then it is not waited for.
    var hasFallback = false

    var source: ResourceSource { box.source }
    var rule: FreshnessRule { options.freshness ?? box.source.freshness }

    var requestFields: HTTPFields {
      if options.fields.isEmpty { return source.headers }
      var fields = source.headers
      for field in options.fields { fields[field.name] = nil }
      for field in options.fields { fields.append(field) }
      return fields
    }
  }

  func demand(_ key: ResourceKey, _ options: ReadOptions) throws(CacheError) -> Demand {
    guard let box = registry[key.source] else {
      throw CacheError(
        .unknownSource, "No source \"\(key.source)\" is registered. Register it before reading \(key).")
    }
    return Demand(key: key, box: box, options: options)
  }

  /// Memory alone; counts as read.
  func lookInMemory(_ demand: Demand, at now: Int64) -> Found? {
    guard let stored = memory.read(demand.key, now: now, group: demand.key.source.index) else { return nil }
    return found(stored, .memory, demand, at: now)
  }

  /// Memory, disk, bundle: what is found in a slow place is put in memory.
  ///
  /// - Throws: what the disk throws, when nothing else has the entry.
  func lookUp(_ demand: Demand) async throws -> Found? {
    let ticket = generations.begin()
    defer { generations.end(ticket) }
    if let found = lookInMemory(demand, at: clock.wall()) { return found }
    let key = demand.key
    var failure: (any Error)?
    var best: Found?
    do {
      if let entry = try await disk?.read({ try $0.entry(key) }) {
        best = found(StoredEntry(entry), .disk, demand, at: clock.wall())
      }
    } catch {
      failure = error
    }
    if !bundled.isEmpty, best?.use.isFresh != true, let entry = await bundled.entry(key),
      entry.metadata.validatedAt > best?.stored.entry.metadata.validatedAt ?? .min
    {
      best = found(StoredEntry(entry), .bundled, demand, at: clock.wall()) ?? best
    }
    guard let best else {
      if let failure { throw failure }
      return nil
    }
    guard generations.isCurrent(ticket, key) else { return nil }
    promote(key, best.stored, ticket)
    noteFound(key, best)
    return best
  }

  /// Puts an entry in memory, unless it was removed since the ticket.
  func promote(_ key: ResourceKey, _ stored: StoredEntry, _ ticket: Generations.Ticket) {
    let evicted = memory.put(key, stored, cost: stored.cost, size: stored.entry.body.count) {
      generations.isCurrent(ticket, key)
    }
    if let evicted { noteEvicted(evicted) }
  }

  private func noteFound(_ key: ResourceKey, _ found: Found) {
    board.count(key.source) { counters in
      if found.origin == .disk { counters.diskHits += 1 } else { counters.bundledHits += 1 }
      counters.bytesServed += Int64(found.stored.entry.body.count)
    }
    guard found.origin == .disk, recency.note(key, at: clock.wall()) else { return }
    // Uses that cannot be written are lost; they only say what to evict first.
    Task { try? await self.flush() }
  }

  private func found(
    _ stored: StoredEntry, _ origin: ResourceOrigin, _ demand: Demand, at now: Int64
  ) -> Found? {
    let metadata = stored.entry.metadata
    if !metadata.variedOn.isEmpty, !Vary.matches(metadata.variedOn, demand.requestFields) { return nil }
    guard isAcceptable(stored, demand.key, demand.options.typed) else { return nil }
    return Found(stored: stored, origin: origin, use: use(of: metadata, demand, at: now))
  }

  private func use(
    of metadata: EntryMetadata, _ demand: Demand, at now: Int64, isPinned: Bool = false
  ) -> Usability {
    let use = Usability(of: metadata, under: demand.rule, at: now, isPinned: isPinned)
    guard demand.options.fields.contains(.cacheControl) else { return use }
    return RequestDirectives(demand.options.fields).restrict(use, age: metadata.age(at: now))
  }

  /// What was found, with more use allowed where somebody has pinned it: that is looked up only for what could not be
  /// used when the server fails.
  func allowingForPins(_ found: Found?, _ demand: Demand) async -> Found? {
    guard var found, !found.use.isUsableOnError, demand.options.mode != .cacheOnly, let disk else {
      return found
    }
    let key = demand.key
    // A disk that cannot say whether it is pinned leaves it at what the server allows.
    guard (try? await disk.read { try $0.isPinned(key) }) == true else { return found }
    found.use = use(of: found.stored.entry.metadata, demand, at: clock.wall(), isPinned: true)
    return found
  }
}
