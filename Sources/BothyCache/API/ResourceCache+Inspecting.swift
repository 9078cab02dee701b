/// Inspection of the cache from outside, without a trace in it.
extension ResourceCache {
  /// A description of one stored resource, without its bytes.
  package struct Inspected: Sendable, Hashable {
    /// The key that readers use, without its variant.
    package var key: ResourceKey
    /// The status, fields and times of the stored response.
    package var metadata: EntryMetadata
    /// The space on disk, the time of the last use, and whether the entry is pinned.
    package var size: StoredSize
    /// The usability under the source's present rule, or `nil` if the source isn't registered.
    package var usability: EntryState?
    /// The key with its variant.
    let place: ResourceKey
  }

  /// Returns the totals on disk for each source. The cost does not grow with the number of entries.
  ///
  /// Sources without entries are missing, and sources that aren't registered have theirs. Pinned entries are included.
  /// Empty without a disk. Reads one row for each source.
  public func totals() async throws -> [SourceID: ResourceCache.Totals] {
    guard let disk else { return [:] }
    return try await disk.read { try $0.totals() }
  }

  /// Returns the identities of the sources with entries on disk, `nil` for entries of an earlier version.
  ///
  /// Reads a row of each source.
  package func identities() async throws -> [SourceID: UInt64?] {
    guard let disk else { return [:] }
    return try await disk.read { try $0.identities() }
  }

  /// Returns all entries on disk, of one source or of all, in no order. Does not count as use.
  ///
  /// A key has several entries if its response depends on the request (`metadata.variedOn`). Only metadata is read, and
  /// memory is used for a description of each entry.
  package func inspect(_ source: SourceID? = nil) async throws -> [Inspected] {
    guard let disk else { return [] }
    let (registry, now) = (registry, clock.wall())
    return try await disk.read { store in
      var all: [Inspected] = []
      try store.forEachSized(source) { key, metadata, size in
        let usability = registry[key.source].map {
          EntryState(of: metadata, under: $0.source.freshness, at: now, isPinned: size.isPinned)
        }
        all.append(
          Inspected(key: key.base, metadata: metadata, size: size, usability: usability, place: key))
      }
      return all
    }
  }

  /// Returns the number of these resources that came with the app. Reads the metadata of each.
  package func bundledCount(_ keys: [ResourceKey]) async -> Int { await bundled.count(keys) }

  /// Reads every body on disk and checks it. Damaged entries are quarantined and reported as events.
  package func verify(progress: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> VerifyReport {
    guard let disk else { return VerifyReport() }
    var report = try await disk.write { try $0.verify(progress: progress) }
    for key in report.damaged { memory.remove(key) }
    report.damaged = report.damaged.map(\.base)
    return report
  }

  /// Deletes files on disk that no entry names.
  package func collectGarbage() async throws -> GarbageReport {
    guard let disk else { return GarbageReport() }
    return try await disk.write { try $0.collectGarbage() }
  }

  /// Makes the store on disk smaller after much of it has changed. See `DiskStore.pack()`.
  package func packDisk() async {
    // A store that isn't packed is only larger.
    try? await disk?.write { try $0.pack() }
  }

  /// The bytes that the disk holds for removals on a full disk, beside those of the entries.
  package var heldRoom: Int64 { disk?.store.heldRoom ?? 0 }
}
