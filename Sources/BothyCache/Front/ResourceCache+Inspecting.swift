/// Looking at the cache from outside, without leaving a trace in it.
extension ResourceCache {
  /// What is known of one stored resource, without its bytes.
  public struct Inspected: Sendable, Hashable {
    /// The key that readers use, without its variant.
    public var key: ResourceKey
    /// The status, fields and times of the stored answer.
    public var metadata: EntryMetadata
    /// What it takes on disk, when it was last used, and whether it is pinned.
    public var size: StoredSize
    /// Under the source's present rule; nil when the source is not registered.
    public var usability: Usability?
    /// The key with its variant.
    let place: ResourceKey
  }

  /// What is on disk, for each source. Costs nothing that grows with the number of entries.
  public func totals() async throws -> [SourceID: StoreTotals] {
    guard let disk else { return [:] }
    return try await disk.read { try $0.totals() }
  }

  /// All entries on disk of a source, or of all, in no order: several of one key where its answer depends on the
  /// request (`metadata.variedOn`). Does not count as use.
  ///
  /// Reads only what is known of them; costs memory for a description of each.
  public func inspect(_ source: SourceID? = nil) async throws -> [Inspected] {
    guard let disk else { return [] }
    let (registry, now) = (registry, clock.wall())
    return try await disk.read { store in
      var all: [Inspected] = []
      try store.forEach(source) { key, metadata, size in
        let usability = registry[key.source].map {
          Usability(of: metadata, under: $0.source.freshness, at: now, isPinned: size.isPinned)
        }
        all.append(
          Inspected(key: key.base, metadata: metadata, size: size, usability: usability, place: key))
      }
      return all
    }
  }

  /// Reads every body on disk and checks it; damaged ones are put away and told of as events.
  public func verify(progress: @escaping @Sendable (Int) -> Void = { _ in }) async throws -> VerifyReport {
    guard let disk else { return VerifyReport() }
    var report = try await disk.write { try $0.verify(progress: progress) }
    for key in report.damaged { memory.remove(key) }
    report.damaged = report.damaged.map(\.base)
    return report
  }

  /// Removes from the disk what nobody names any more.
  public func collectGarbage() async throws -> GarbageReport {
    guard let disk else { return GarbageReport() }
    return try await disk.write { try $0.collectGarbage() }
  }
}
