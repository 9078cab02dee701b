public import Foundation

/// Pins: entries that stay on disk whatever the limits are, because a holder needs them.
extension ResourceCache {
  /// Pins the resources on disk for the holder, stored already or not, in all their variants. Loads nothing.
  ///
  /// ```swift
  /// let map = try api.key(path: "rannoch/map.pdf")
  /// try await cache.pin([map], by: "trip 7")
  /// let copy = try await cache.value(map)
  /// ```
  ///
  /// Pinned entries do not count against the limits. They are served without a network whatever their fields say. Each
  /// 512 keys take one transaction. Pins outlive the process. A second call with the same keys changes nothing. Without
  /// a disk the call does nothing.
  ///
  /// - Parameter holder: any name. A resource stays pinned while any holder has pinned it.
  /// - Throws: `BothyError`, such as `.busy` or `.diskFull`. Earlier parts of 512 keys are pinned then.
  public func pin(_ keys: [ResourceKey], by holder: String) async throws {
    try await disk?.write { try $0.pin(keys, by: holder) }
  }

  /// Removes the holder's pins of the keys, or all its pins for `nil`. The limits are enforced before this returns.
  ///
  /// The entries stay while the limits allow it, unless another holder has pinned them. If the disk is nearly full, as
  /// many bytes are evicted at once, those used longest ago first. An unknown holder or key is skipped. Each 512 keys
  /// take one transaction, and evictions take more.
  ///
  /// - Throws: `BothyError`, such as `.busy` while another process writes.
  public func unpin(_ keys: [ResourceKey]? = nil, by holder: String) async throws {
    try await disk?.write { try $0.unpin(keys, by: holder) }
  }

  /// Returns the totals of the holder's pinned entries on disk. Reads the record of each entry, but not its bytes.
  ///
  /// An unknown holder, and a cache without a disk, has totals of zero. Pins without a stored entry do not count.
  public func totals(heldBy holder: String) async throws -> ResourceCache.Totals {
    try await disk?.read { try $0.totals(heldBy: holder) } ?? ResourceCache.Totals()
  }

  /// Returns the metadata of each resource on disk, or `nil` where no entry exists. Doesn't count as use or send a
  /// request.
  package func stored(_ keys: [ResourceKey]) async throws -> [EntryMetadata?] {
    guard let disk else { return keys.map { _ in nil } }
    return try await disk.read { store in try keys.map { try store.metadata($0) } }
  }

  /// Returns the number of resources that the holder has pinned, stored or not.
  package func pinCount(by holder: String) async throws -> Int {
    try await disk?.read { try $0.pinCount(by: holder) } ?? 0
  }

  /// Returns true if any holder has pinned the resource, stored or not.
  package func isPinned(_ key: ResourceKey) async throws -> Bool {
    try await disk?.read { try $0.isPinned(key) } ?? false
  }

  /// Returns the names of all holders of pins.
  package func pinHolders() async throws -> [String] {
    try await disk?.read { try $0.pinHolders() } ?? []
  }

  /// Reports that a file beside the cache was replaced, also to later listeners.
  package func reportReplacement(_ reason: String) { hub.send(.storeReplaced(reason: reason), isKept: true) }

  /// True if entries outlive the process.
  package var hasDisk: Bool { disk != nil }

  /// Calls the listener after each change of the network's conditions. Returns an id for `unfollowNetwork`.
  package func followNetwork(_ listener: @escaping @Sendable () -> Void) -> Int { network.listen(listener) }
  package func unfollowNetwork(_ id: Int) { network.unlisten(id) }

  /// The time of the cache's clock, in milliseconds since 1970.
  package var now: Int64 { clock.wall() }

  /// Waits on the cache's clock. Throws when the task is cancelled.
  package func wait(_ duration: Duration) async throws { try await clock.sleep(duration) }

  /// Returns all pins, of one holder or of all, stored or not. Uses memory for a description of each.
  package func pins(by holder: String? = nil) async throws -> [StoredPin] {
    guard let disk else { return [] }
    return try await disk.read { store in
      var all: [StoredPin] = []
      try store.forEachPin(by: holder) { all.append(StoredPin(key: $0, holder: $1, bytes: $2)) }
      return all
    }
  }

  /// Writes all entries on disk into a new file, which can ship with an app. See `BundledResources.file`.
  ///
  /// Copies every byte on a thread of its own, so reads go on. Writes wait until it is done, and those of other
  /// processes throw `.busy` after 5 seconds. Large entries are in a folder beside the file, which must ship with it.
  /// Without a disk no file is written.
  ///
  /// - Throws: `BothyError`, with `.alreadyExists` if a file is there, or `invalidConfiguration` if the store is of an
  ///   app's own kind.
  public func export(to file: URL) async throws {
    try await disk?.copy { try $0.export(to: file.path) }
  }

  /// Sets other limits for the disk. They are enforced before this returns.
  ///
  /// Posts `CacheEvent.evicted` for each entry that no longer fits. The limits aren't stored, and the next opening has
  /// those of its settings. Without a disk the call does nothing.
  ///
  /// - Throws: `BothyError`, such as `.busy` while another process writes.
  public func setDiskLimits(_ limits: DiskCache.Limits) async throws {
    guard let disk else { return }
    noteEvictedFromDisk(try await disk.write { try $0.apply(limits) })
  }
}
