internal import Foundation
internal import Synchronization

/// Storing the responses of requests on disk and in memory, with their counters and events.
extension ResourceCache {
  func handOut(
    _ key: ResourceKey, _ entry: CacheEntry, _ obstacle: CachedResource.StorageObstacle,
    origin: CachedResource.Origin = .network
  ) -> FetchOutcome {
    board.count(key.source) { counters in
      counters.notStored += 1
      if origin == .confirmed {
        counters.confirmed += 1
      } else {
        counters.loaded += 1
      }
    }
    hub.send(.notStored(key, obstacle))
    let resource = CachedResource(
      key: key, stored: StoredEntry(entry), origin: origin, freshness: .fresh, age: 0,
      storage: .notStored(obstacle))
    return .resource(resource, isNew: true)
  }

  /// Stores an entry on disk and in memory and sends the events. Returns the bytes even if the disk fails.
  ///
  /// - Parameters:
  ///   - mayWait: true if the entry confirms the stored one, and may be written with later ones. The caller doesn't wait
  ///     for that.
  ///   - known: see `DiskStore.Prepared.known`.
  func keep(
    _ key: ResourceKey, _ entry: CacheEntry, wasSame: Bool?, origin: CachedResource.Origin,
    mayWait: Bool = false, known time: Int64? = nil, _ ticket: InvalidationTracker.Ticket
  ) async -> FetchOutcome {
    hold.forget([key])
    let stored = StoredEntry(entry)
    let known = knownInMemory(key, besides: stored)
    var report = DiskQueue.Stored(outcome: .notStored(.noDisk))
    if mayWait, known.isEmpty, !stored.isVaried, writesLater(key, entry, ticket) {
      report = DiskQueue.Stored(outcome: .stored, isUnchanged: true)
    } else if let disk {
      report = await disk.store(
        key, entry, hasOthers: !known.isEmpty, isConfirmation: origin == .confirmed, known: time
      ) { [generations] in
        generations.isCurrent(ticket, key)
      }
      noteEvictedFromDisk(report.evicted)
    } else {
      report.place = VariantSlot(of: entry.metadata, among: known)
    }
    replacements.note([key])
    if !report.isOutdated {
      promote(key.of(variant: report.place.variant), stored) { generations.isCurrent(ticket, key) }
    } else {
      forgetInMemory(key)
    }
    for (variant, metadata) in knownInMemory(key, besides: stored) where variant != report.place.variant {
      if VariantSlot.outdates(entry.metadata, metadata) { memory.remove(key.of(variant: variant)) }
    }
    let isSame = wasSame ?? report.isUnchanged
    board.count(key.source) { counters in
      if stored.isAbsent {
        counters.absent += 1
      } else if isSame {
        counters.confirmed += 1
      } else {
        counters.loaded += 1
      }
    }
    if disk != nil { noteNotStored(key, report.outcome) }
    if stored.isAbsent {
      hub.send(.absent(key, status: entry.metadata.status))
    } else {
      hub.send(isSame ? .confirmed(key) : .changed(key, bytes: entry.body.count))
    }
    let resource = CachedResource(
      key: key, stored: stored, origin: origin, freshness: .fresh,
      age: entry.metadata.age(at: entry.metadata.validatedAt), storage: report.outcome)
    return .resource(resource, isNew: !isSame)
  }

  /// Returns the entries in memory under a key that are for some requests only. Empty for a resource that never varied.
  private func knownInMemory(
    _ key: ResourceKey, besides new: StoredEntry
  ) -> [(variant: UInt8, metadata: EntryMetadata)] {
    guard new.isVaried || hasVariants.load(ordering: .relaxed) || memory.look(key)?.isVaried == true else {
      return []
    }
    return key.variants.compactMap { place in
      guard let stored = memory.look(place), new.isVaried || stored.isVaried else { return nil }
      return (place.variant, stored.entry.metadata)
    }
  }

  /// Lets the next read find what is on the disk.
  func forgetInMemory(_ key: ResourceKey) {
    for place in key.variants { memory.remove(place) }
  }

  /// True if no other entry has replaced the stored one since the request, as far as it is known.
  func isUnreplaced(_ demand: Demand) -> Bool {
    forgetReplaced()
    return demand.reading.map { replacements.isCurrent($0, demand.key) } ?? false
  }

  /// Lets a confirmation wait for others, if the disk can write it so. Returns false if it must be written now.
  private func writesLater(
    _ key: ResourceKey, _ entry: CacheEntry, _ ticket: InvalidationTracker.Ticket
  ) -> Bool {
    guard let disk, disk.sharesConfirmations else { return false }
    let later = generations.begin()
    guard generations.isCurrent(ticket, key) else {
      generations.end(later)
      return false
    }
    disk.confirmLater(key, entry) { [generations] in
      generations.isCurrent(later, key)
    } ended: { [weak self, generations] report in
      generations.end(later)
      if report.isOutdated { self?.forgetInMemory(key) }
      self?.noteEvictedFromDisk(report.evicted)
      self?.noteNotStored(key, report.outcome)
    }
    return true
  }

  /// Notes the end of a load. The last one writes the confirmations that wait for others, unless its caller does.
  func loadEnded(_ demand: Demand) async {
    let left = loads.wrappingSubtract(1, ordering: .acquiringAndReleasing).newValue
    if left == 0, !demand.options.sharesConfirmation { await settle() }
  }

  /// Writes the confirmations that wait for others. Returns when they are written.
  package func settle() async { await disk?.settle() }

  private func noteNotStored(_ key: ResourceKey, _ outcome: CachedResource.StorageOutcome) {
    guard case .notStored(let obstacle) = outcome else { return }
    board.count(key.source) { $0.notStored += 1 }
    hub.send(.notStored(key, obstacle))
  }

  func noteEvictedFromDisk(_ keys: [ResourceKey]) {
    for key in keys {
      board.count(key.source) { $0.evictedFromDisk += 1 }
      hub.send(.evicted(key.base))
    }
  }
}
