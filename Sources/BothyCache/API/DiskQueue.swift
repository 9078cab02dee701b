internal import Dispatch
internal import Synchronization

/// The cache's own threads for its disk: two that read, one that copies the store, and one that writes.
///
/// A task of the program never waits for a disk in a thread that other tasks need. A read never waits for a copy. Writes
/// run in the order of their calls. Entries that wait at that time share one transaction.
///
/// A confirmation of stored bytes may wait for others: until there are 256, or a megabyte of bytes, or another write.
/// If the process is killed before, the entry is only older than it might be.
final class DiskQueue: Sendable {
  struct Stored: Sendable {
    var outcome: CachedResource.StorageOutcome
    var place = VariantSlot.only
    /// True if the bytes equal those stored before.
    var isUnchanged = false
    /// True if a newer entry has come since the request, and stays.
    var isOutdated = false
    var evicted: [ResourceKey] = []
  }

  private struct Entry: Sendable {
    var key: ResourceKey
    var entry: CacheEntry
    /// True if the store may have entries for other requests under the key.
    var hasOthers: Bool
    /// True if the bytes are those that the store has, unless another process has replaced them.
    var isConfirmation: Bool
    /// See `DiskStore.Prepared.known`.
    var known: Int64?
    var isWanted: @Sendable () -> Bool
    var done: @Sendable (Stored) -> Void
  }

  private enum Job: Sendable {
    case store(Entry)
    case work(@Sendable () -> Void)
  }

  private struct Queue {
    var jobs: [Job] = []
    /// The bytes of the confirmations that wait for others.
    var waitingBytes = 0
    var isDraining = false
    var nextReader = 0
  }

  /// The number of entries in a transaction.
  private static let batch = 256
  /// The bytes at which confirmations wait no longer.
  private static let mostWaiting = 1 << 20

  let store: any DiskCache.Store
  /// The changes of the store, which other processes may make too, or `nil` for a store of an app's own.
  let changes: ChangeCount?
  private let writing = DispatchQueue(label: "bothy.cache.write", qos: .utility)
  private let reading = (0..<2).map { DispatchQueue(label: "bothy.cache.read.\($0)", qos: .userInitiated) }
  private let copying = DispatchQueue(label: "bothy.cache.copy", qos: .utility)
  private let queue = Mutex(Queue())

  init(_ store: any DiskCache.Store) {
    self.store = store
    changes = store.changeCount
  }

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
  /// - Parameters:
  ///   - hasOthers: true if memory has entries for other requests, which an entry for all requests outdates.
  ///   - isConfirmation: true if the bytes are those that were stored. They then replace no other ones.
  ///   - known: see `DiskStore.Prepared.known`.
  func store(
    _ key: ResourceKey, _ entry: CacheEntry, hasOthers: Bool, isConfirmation: Bool = false,
    known: Int64? = nil, ifWanted isWanted: @escaping @Sendable () -> Bool
  ) async -> Stored {
    await withCheckedContinuation { continuation in
      let job = Entry(
        key: key, entry: entry, hasOthers: hasOthers, isConfirmation: isConfirmation, known: known,
        isWanted: isWanted, done: { continuation.resume(returning: $0) })
      append(.store(job))
    }
  }

  /// True if confirmations may wait for others. A store of an app's own has no transactions that they could share.
  var sharesConfirmations: Bool { store.hasIndex }

  /// Writes the metadata of an entry that the server confirmed, with later ones. `ended` is called after that.
  func confirmLater(
    _ key: ResourceKey, _ entry: CacheEntry, ifWanted isWanted: @escaping @Sendable () -> Bool,
    ended: @escaping @Sendable (Stored) -> Void
  ) {
    let job = Entry(
      key: key, entry: entry, hasOthers: false, isConfirmation: true, isWanted: isWanted, done: ended)
    append(.store(job), waiting: entry.body.count)
  }

  /// Writes what waits for others. Returns when it is written.
  func settle() async {
    guard queue.withLock({ $0.isDraining || !$0.jobs.isEmpty }) else { return }
    await withCheckedContinuation { continuation in append(.work { continuation.resume() }) }
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

  /// - Parameter bytes: the bytes of a job that may wait for others, or `nil` for one that is done now.
  private func append(_ job: Job, waiting bytes: Int? = nil) {
    let starts = queue.withLock { queue in
      queue.jobs.append(job)
      queue.waitingBytes += bytes ?? 0
      if bytes != nil, queue.jobs.count < Self.batch, queue.waitingBytes < Self.mostWaiting { return false }
      defer { queue.isDraining = true }
      return !queue.isDraining
    }
    if starts { writing.async { self.drain() } }
  }

  private func drain() {
    while true {
      let jobs = queue.withLock { queue -> [Job] in
        if queue.jobs.isEmpty { queue.isDraining = false }
        defer { (queue.jobs, queue.waitingBytes) = ([], 0) }
        return queue.jobs
      }
      if jobs.isEmpty { return }
      var batch: [Entry] = []
      for job in jobs {
        switch job {
        case .store(let entry):
          // A second version of a key must follow the first.
          if batch.count >= Self.batch || batch.contains(where: { $0.key == entry.key }) { commit(&batch) }
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
    let wanted = batch.filter { entry in
      if entry.isWanted() { return true }
      entry.done(Stored(outcome: .notStored(.removed)))
      return false
    }
    if wanted.isEmpty { return }
    do {
      let places = wanted.map { place($0) }
      let placed = zip(wanted, places).map { (key: $0.key.of(variant: $1.variant), entry: $0.entry) }
      let confirming = zip(wanted, placed).filter { $0.0.isConfirmation }.map { $0.1.key }
      var known: [ResourceKey: Int64] = [:]
      for (entry, placed) in zip(wanted, placed) where entry.known != nil { known[placed.key] = entry.known }
      let report = try store.store(placed, confirming: Set(confirming), known: known)
      let outdated = zip(placed, places).flatMap { placed, place -> [ResourceKey] in
        report.outdated.contains(placed.key) ? [] : place.outdated.map { placed.key.of(variant: $0) }
      }
      // An entry that can't be removed stays until it is evicted. Reads find the new entry first.
      if !outdated.isEmpty { try? store.remove(outdated) }
      var evicted = report.evicted
      for (index, entry) in wanted.enumerated() {
        let key = placed[index].key
        let outcome = report.refused[key].map(CachedResource.StorageOutcome.notStored) ?? .stored
        entry.done(
          Stored(
            outcome: outcome, place: places[index], isUnchanged: report.unchanged.contains(key),
            isOutdated: report.outdated.contains(key), evicted: evicted))
        evicted = []
      }
    } catch {
      let outcome = CachedResource.StorageOutcome.notStored(.failed("\(error)"))
      for entry in wanted { entry.done(Stored(outcome: outcome)) }
    }
  }
}
