internal import Dispatch
internal import Synchronization

/// The cache's own threads for its disk: two that read and one that writes, so that no task of the program ever waits
/// on a disk in a thread that others need.
///
/// Writes happen in the order in which they were asked for; entries that wait meanwhile go into one transaction.
final class DiskLane: Sendable {
  struct Stored: Sendable {
    var outcome: StorageOutcome
    var place = VariantPlace.only
    /// The bytes are those that were there before.
    var isUnchanged = false
    var evicted: [ResourceKey] = []
  }

  private struct Entry: Sendable {
    var key: ResourceKey
    var entry: CacheEntry
    /// Whether others may be stored under the key that are for other requests.
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

  let store: any BlobStore
  private let writing = DispatchQueue(label: "bothy.cache.write", qos: .utility)
  private let reading = (0..<2).map { DispatchQueue(label: "bothy.cache.read.\($0)", qos: .userInitiated) }
  private let queue = Mutex(Queue())

  init(_ store: any BlobStore) { self.store = store }

  /// Runs work that reads.
  func read<Result: Sendable>(_ work: @escaping @Sendable (any BlobStore) throws -> Result) async throws
    -> Result
  {
    let thread = queue.withLock { queue in
      queue.nextReader = (queue.nextReader + 1) % reading.count
      return reading[queue.nextReader]
    }
    return try await withCheckedThrowingContinuation { continuation in
      thread.async { [store] in continuation.resume(with: Swift.Result { try work(store) }) }
    }
  }

  /// Runs work that writes, after all that was asked for before.
  func write<Result: Sendable>(_ work: @escaping @Sendable (any BlobStore) throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      append(.work { [store] in continuation.resume(with: Swift.Result { try work(store) }) })
    }
  }

  /// Writes an entry in its place among the variants of its key, unless it is not wanted any more when its turn comes.
  /// Never throws: a disk that fails is told of in the outcome.
  ///
  /// - Parameter hasOthers: whether entries for other requests are known to be there, which one for all outdates.
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

  /// Where an entry goes. To be asked by the thread that writes.
  private func place(_ entry: Entry) -> VariantPlace {
    guard entry.hasOthers || !entry.entry.metadata.variedOn.isEmpty else { return .only }
    let stored = entry.key.variants.compactMap { key in
      // What cannot be read is not there; writing will tell.
      (try? store.metadata(key)).map { (variant: key.variant, metadata: $0) }
    }
    return VariantPlace(of: entry.entry.metadata, among: stored)
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
          // A second version of a key has to come after the first.
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
      // What cannot be removed goes when it is evicted; the new answer is found before it.
      if !outdated.isEmpty { try? store.remove(outdated) }
      var evicted = report.evicted
      for (index, entry) in wanted.enumerated() {
        let key = placed[index].key
        let outcome: StorageOutcome =
          switch report.refused[key] {
          case .tooLarge: .notStored(.tooLarge)
          case .diskFull: .notStored(.diskFull)
          case nil: .stored
          }
        entry.done.resume(
          returning: Stored(
            outcome: outcome, place: places[index], isUnchanged: report.unchanged.contains(key),
            evicted: evicted))
        evicted = []
      }
    } catch {
      let outcome = StorageOutcome.notStored(.failed("\(error)"))
      for entry in wanted { entry.done.resume(returning: Stored(outcome: outcome)) }
    }
  }
}
