internal import Dispatch
internal import Synchronization

/// The cache's own threads for its disk: two that read, one that copies the store, and one that writes.
///
/// A task of the program never waits for a disk in a thread that other tasks need. A read never waits for a copy. Writes
/// run in the order of their calls. Entries that wait at that time share one transaction.
final class DiskQueue: Sendable {
  struct Stored: Sendable {
    var outcome: CachedResource.StorageOutcome
    var place = VariantSlot.only
    /// True if the bytes equal those stored before.
    var isUnchanged = false
    var evicted: [ResourceKey] = []
  }

  private struct Entry: Sendable {
    var key: ResourceKey
    var entry: CacheEntry
    /// True if the store may have entries for other requests under the key.
    var hasOthers: Bool
    var isWanted: @Sendable () -> Bool
    var done: CheckedContinuation<Stored, Never>
  }

  private enum Job: Sendable {
    case store(Entry)
    case work(@Sendable () -> Void)
  }

  private struct Queue {
    var jobs: [Job] = []
    var isDraining = false
    var nextReader = 0
  }

  let store: any DiskCache.Store
  private let writing = DispatchQueue(label: "bothy.cache.write", qos: .utility)
  private let reading = (0..<2).map { DispatchQueue(label: "bothy.cache.read.\($0)", qos: .userInitiated) }
  private let copying = DispatchQueue(label: "bothy.cache.copy", qos: .utility)
  private let queue = Mutex(Queue())

  init(_ store: any DiskCache.Store) { self.store = store }

  /// Runs work that reads.
  func read<Result: Sendable>(_ work: @escaping @Sendable (any DiskCache.Store) throws -> Result) async throws
    -> Result
  {
    let thread = queue.withLock { queue in
      queue.nextReader = (queue.nextReader + 1) % reading.count
      return reading[queue.nextReader]
    }
    return try await run(work, on: thread)
  }

  /// Runs work that reads the whole store, after earlier work of this kind.
  func copy<Result: Sendable>(_ work: @escaping @Sendable (any DiskCache.Store) throws -> Result) async throws
    -> Result
  {
    try await run(work, on: copying)
  }

  private func run<Result: Sendable>(
    _ work: @escaping @Sendable (any DiskCache.Store) throws -> Result, on thread: DispatchQueue
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      thread.async { [store] in continuation.resume(with: Swift.Result { try work(store) }) }
    }
  }

  /// Runs work that writes, after all earlier writes.
  func write<Result: Sendable>(_ work: @escaping @Sendable (any DiskCache.Store) throws -> Result)
    async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      append(.work { [store] in continuation.resume(with: Swift.Result { try work(store) }) })
    }
  }

  /// Writes an entry at its place among the variants of its key, if `isWanted` still holds at its turn.
  ///
  /// Never throws. The outcome reports a disk failure.
  ///
  /// - Parameter hasOthers: true if memory has entries for other requests, which an entry for all requests outdates.
  func store(
    _ key: ResourceKey, _ entry: CacheEntry, hasOthers: Bool,
    ifWanted isWanted: @escaping @Sendable () -> Bool
  ) async -> Stored {
    await withCheckedContinuation { continuation in
      append(
        .store(
          Entry(key: key, entry: entry, hasOthers: hasOthers, isWanted: isWanted, done: continuation)))
    }
  }

  /// Returns the place of an entry. Call it on the thread that writes.
  private func place(_ entry: Entry) -> VariantSlot {
    guard entry.hasOthers || !entry.entry.metadata.variedOn.isEmpty else { return .only }
    let stored = entry.key.variants.compactMap { key in
      // An unreadable entry counts as missing. The write reports the failure.
      (try? store.metadata(key)).map { (variant: key.variant, metadata: $0) }
    }
    return VariantSlot(of: entry.entry.metadata, among: stored)
  }

  private func append(_ job: Job) {
    let starts = queue.withLock { queue in
      queue.jobs.append(job)
      defer { queue.isDraining = true }
      return !queue.isDraining
    }
    if starts { writing.async { self.drain() } }
  }

  private func drain() {
    while true {
      let jobs = queue.withLock { queue -> [Job] in
        if queue.jobs.isEmpty { queue.isDraining = false }
        defer { queue.jobs = [] }
        return queue.jobs
      }
      if jobs.isEmpty { return }
      var batch: [Entry] = []
      for job in jobs {
        switch job {
        case .store(let entry):
          // A second version of a key must follow the first.
          if batch.count >= 64 || batch.contains(where: { $0.key == entry.key }) { commit(&batch) }
          batch.append(entry)
        case .work(let work):
          commit(&batch)
          work()
        }
      }
      commit(&batch)
    }
  }

  private func commit(_ batch: inout [Entry]) {
    defer { batch = [] }
    let wanted = batch.filter { $0.isWanted() }
    for entry in batch where !wanted.contains(where: { $0.key == entry.key }) {
      entry.done.resume(returning: Stored(outcome: .notStored(.removed)))
    }
    if wanted.isEmpty { return }
    do {
      let places = wanted.map { place($0) }
      let placed = zip(wanted, places).map { (key: $0.key.of(variant: $1.variant), entry: $0.entry) }
      let report = try store.store(placed)
      let outdated = zip(wanted, places).flatMap { entry, place in
        place.outdated.map { entry.key.of(variant: $0) }
      }
      // An entry that can't be removed stays until it is evicted. Reads find the new entry first.
      if !outdated.isEmpty { try? store.remove(outdated) }
      var evicted = report.evicted
      for (index, entry) in wanted.enumerated() {
        let key = placed[index].key
        let outcome = report.refused[key].map(CachedResource.StorageOutcome.notStored) ?? .stored
        entry.done.resume(
          returning: Stored(
            outcome: outcome, place: places[index], isUnchanged: report.unchanged.contains(key),
            evicted: evicted))
        evicted = []
      }
    } catch {
      let outcome = CachedResource.StorageOutcome.notStored(.failed("\(error)"))
      for entry in wanted { entry.done.resume(returning: Stored(outcome: outcome)) }
    }
  }
}
