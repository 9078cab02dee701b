import BothyStore

/// The deletion of blobs and secrets without a record.
extension SyncService {
  /// Returns true without a plausible earlier collection, and if the time of a blob is over. A day after the last
  /// collection, it also returns true if something changed since.
  func isCollectionDue(_ due: DueSpace, at time: Int64) async -> Bool {
    guard let last = due.collection, last.isPlausible(at: time) else { return true }
    if let next = last.due, next <= time { return true }
    guard time >= last.at + RetentionPolicy.day else { return false }
    if last.head != due.head { return true }
    return await hasNews(due.space, since: last.at)
  }

  /// Returns true if blobs came or were wanted since `time` that no operation has named.
  func hasNews(_ space: String, since time: Int64) async -> Bool {
    await blobs?.hasNews(in: space, since: time) ?? false
  }

  /// Deletes the secrets of deleted records and the blobs that no record names, by the terms. Returns the collection to
  /// note, or `nil` if the space has neither, and the number of deleted blobs.
  ///
  /// Costs look-ups of files. If the space has any secrets or blobs, it also costs a read of the head, and if it has
  /// blobs, a read of its records.
  func collect(
    _ space: String, _ terms: RetentionPolicy, since last: BlobCollection?
  ) async throws -> (collection: BlobCollection?, blobs: Int) {
    let time = now()
    let last = last.flatMap { $0.isPlausible(at: time) ? $0 : nil }
    let held = try rules.secretVault?.records(of: space) ?? []
    let found = try await blobsToCollect(in: space)
    guard !held.isEmpty || found != nil else { return (nil, 0) }
    // Read first, so that later changes make another collection due.
    var collection = BlobCollection(at: time, head: try await storage.read(space: space) { $0.head })
    try await sweepSecrets(held, in: space)
    guard let blobs, let found else { return (collection, 0) }
    let named = try await namedBlobs(in: space)
    // A blob that came after its record was not named by an operation since.
    if found.hasUnnamed { try await blobs.keep(named, in: space) }
    let release = BlobRelease(
      blobs: found.kept, named: named, time: time, lastTime: last?.at, grace: terms.blobGrace)
    let done = try await blobs.release(release, in: space)
    collection.due = done.next
    return (collection, done.removed)
  }

  private struct FoundBlobs {
    var kept: [String: Int64]
    var hasUnnamed: Bool
  }

  /// Returns the blobs of a space before its records are read, or `nil` if it has none and misses none. A request for a
  /// blob keeps it, so a blob that an operation names meanwhile stays.
  private func blobsToCollect(in space: String) async throws -> FoundBlobs? {
    guard let blobs else { return nil }
    let found = FoundBlobs(
      kept: try await blobs.kept(in: space), hasUnnamed: await blobs.hasUnnamed(in: space))
    let isWanting = try await !blobs.wanted(in: space, limit: 1).isEmpty
    return found.kept.isEmpty && !found.hasUnnamed && !isWanting ? nil : found
  }

  private func namedBlobs(in space: String) async throws -> Set<String> {
    try await storage.read(space: space) { storage in
      var named: Set<String> = []
      try storage.forEachRecord(in: .everything) { entry in
        for value in try entry.record.fields.members().values {
          if let blob = Blob(value) { named.insert(blob.sha256) }
        }
      }
      return named
    }
  }
}

extension BlobCollection {
  /// False if a clock that was far ahead dated the collection.
  fileprivate func isPlausible(at time: Int64) -> Bool { at <= time.addingClamped(RetentionPolicy.day) }
}
