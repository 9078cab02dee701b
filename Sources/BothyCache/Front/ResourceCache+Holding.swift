/// What must stay: entries that a holder wants kept, whatever the limits say.
extension ResourceCache {
  /// Keeps the resources on disk for the holder, stored already or not, in all their variants; they do not count against
  /// the limits, and are served without a network whatever their fields say. Loads nothing. One transaction for 512.
  public func pin(_ keys: [ResourceKey], by holder: String) async throws {
    try await disk?.write { try $0.pin(keys, by: holder) }
  }

  /// Takes back what the holder wanted kept, all of it for nil; the limits hold again when this returns.
  public func unpin(_ keys: [ResourceKey]? = nil, by holder: String) async throws {
    try await disk?.write { try $0.unpin(keys, by: holder) }
  }

  /// What is on disk of all that the holder wants kept. Costs a look at the row of each; nothing is read of the bytes.
  public func totals(heldBy holder: String) async throws -> StoreTotals {
    try await disk?.read { try $0.totals(heldBy: holder) } ?? StoreTotals()
  }

  /// What is known on disk of each of the resources; nil where nothing is there. Counts as no use and asks nobody else.
  package func stored(_ keys: [ResourceKey]) async throws -> [EntryMetadata?] {
    guard let disk else { return keys.map { _ in nil } }
    return try await disk.read { store in try keys.map { try store.metadata($0) } }
  }

  /// How many resources the holder wants kept, stored or not.
  package func pinCount(by holder: String) async throws -> Int {
    try await disk?.read { try $0.pinCount(by: holder) } ?? 0
  }

  /// Whether entries outlive the process.
  package var hasDisk: Bool { disk != nil }

  /// Puts entries back that other answers have replaced, on disk and in memory.
  package func putBack(_ entries: [(key: ResourceKey, entry: CacheEntry)]) async {
    for (key, entry) in entries {
      let ticket = generations.begin()
      defer { generations.end(ticket) }
      _ = await disk?.store(key, entry, hasOthers: false) { true }
      promote(key, StoredEntry(entry), ticket)
      hub.send(.changed(key, bytes: entry.body.count))
    }
  }

  /// Calls the listener after each change of the network's conditions. Returns what ends that.
  package func followNetwork(_ listener: @escaping @Sendable () -> Void) -> Int { network.listen(listener) }
  package func unfollowNetwork(_ id: Int) { network.unlisten(id) }

  /// Milliseconds since 1970, by the clock that everything here goes by.
  package var now: Int64 { clock.wall() }

  /// Waits on the clock that everything here goes by. Throws when the task is cancelled.
  package func wait(_ duration: Duration) async throws { try await clock.sleep(duration) }

  /// What holders want kept, stored or not, by holder. Costs memory for a description of each mark.
  public func pins(by holder: String? = nil) async throws -> [StoredPin] {
    guard let disk else { return [] }
    return try await disk.read { store in
      var all: [StoredPin] = []
      try store.forEachPin(by: holder) { all.append($0) }
      return all
    }
  }

  /// Sets other limits for the disk; they hold when this returns.
  public func setDiskLimits(_ limits: BlobStoreLimits) async throws {
    guard let disk else { return }
    noteEvictedFromDisk(try await disk.write { try $0.apply(limits) })
  }
}
