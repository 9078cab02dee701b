public import Foundation

/// Removal of stored entries. A response in flight during a removal is returned to its readers and not stored.
extension ResourceCache {
  /// Removes one resource from memory and disk.
  ///
  /// Costs and throws as `remove(_:)` of several. A pin of the key stays, so a later copy is pinned again.
  public func remove(_ key: ResourceKey) async throws { try await remove([key]) }

  /// Removes resources from memory and disk with all their variants, pinned or not; one transaction for 512 entries.
  ///
  /// A key without an entry is skipped. Each key posts `CacheEvent.removed`. Memory is cleared before the disk, so a
  /// failed call may have removed a part.
  ///
  /// - Throws: `BothyError`, such as `.busy` while another process writes, or `.diskFull`.
  public func remove(_ keys: [ResourceKey]) async throws {
    try await dropStored(keys)
    for key in keys { hub.send(.removed(key)) }
  }

  /// Removes all entries of one source, or all entries, from memory and disk, pinned or not.
  ///
  /// Pins stay, so later copies are pinned again. Takes time in proportion to the entries of the store, on the cache's
  /// thread for writes. The room on disk is freed.
  ///
  /// - Parameter source: the source, registered or not. `nil` removes the entries of all sources.
  /// - Throws: `BothyError`, such as `.busy` while another process writes.
  public func removeAll(_ source: SourceID? = nil) async throws {
    generations.removeAll(source)
    hold.forget(nil)
    memory.removeAll { key, _ in source == nil || key.source == source }
    decoded.removeAll { key, _ in source == nil || key.resource.source == source }
    try await disk?.write { store in
      try store.removeAll(source)
      guard let source else { return }
      for staged in EntryStage.sources(for: source, among: try store.totals().keys) {
        try store.removeAll(staged)
      }
    }
    hub.send(.removedAll(source))
  }

  /// Removes entries from before the date, of one source or of all. Pinned entries and responses in flight stay.
  ///
  /// The time at which an entry's bytes came counts; a later confirmation by a 304 does not. Reads every entry of the
  /// source. Posts one `CacheEvent.removedAll`.
  ///
  /// - Throws: `BothyError`, such as `.busy` while another process writes.
  public func remove(before date: Date, source: SourceID? = nil) async throws {
    let time = Int64((date.timeIntervalSince1970 * 1000).rounded(.up))
    try await disk?.write { try $0.remove(receivedBefore: time, source) }
    // Memory does not know the pins. It releases all old entries, and the disk still has the pinned ones.
    memory.removeAll { key, stored in
      (source == nil || key.source == source) && stored.entry.metadata.receivedAt < time
    }
    hub.send(.removedAll(source))
  }

  /// Removes entries that are stale under their source's rule, except pinned entries and those of unknown sources.
  ///
  /// Reads the metadata of every entry and uses one transaction. Returns the number of removed entries.
  @discardableResult
  package func removeExpired(_ source: SourceID? = nil) async throws -> Int {
    let expired = try await inspect(source).filter { $0.usability?.isFresh == false && !$0.size.isPinned }
    if !expired.isEmpty {
      try await dropStored(expired.map(\.place), since: expired.map(\.key))
      for key in Set(expired.map(\.key)) { hub.send(.removed(key)) }
    }
    return expired.count
  }

  /// Removes resources with all their variants.
  func dropStored(_ keys: [ResourceKey]) async throws {
    try await dropStored(keys.flatMap(\.variants), since: keys)
  }

  /// Removes the resources without a pin, with all their variants. Looks for pins and removes in one write.
  package func removeUnpinned(_ keys: [ResourceKey]) async throws {
    let free =
      try await disk?.write { store in
        let free = try keys.filter { try !store.isPinned($0) }
        try store.remove(free.flatMap(\.variants))
        return free
      } ?? keys
    forget(free.flatMap(\.variants), since: free)
    for key in free { hub.send(.removed(key)) }
  }

  /// Removes entries, and prevents responses in flight for their keys from being stored.
  private func dropStored(_ places: [ResourceKey], since keys: [ResourceKey]) async throws {
    forget(places, since: keys)
    try await disk?.write { try $0.remove(places) }
  }

  /// Removes entries from memory, and prevents responses in flight for their keys from being stored.
  private func forget(_ places: [ResourceKey], since keys: [ResourceKey]) {
    generations.note(keys)
    hold.forget(keys)
    for place in places { memory.remove(place) }
    let dropped = Set(keys)
    if decoded.count > 0 { decoded.removeAll { key, _ in dropped.contains(key.resource) } }
    recency.forget(places)
  }

  /// Runs a write of a removal to a file beside the cache. On a full disk, runs it again with the room that the cache holds
  /// for removals.
  package func removing(_ write: () async throws -> Void) async throws {
    do { try await write() } catch let error as BothyError where error.code == .diskFull {
      guard let disk, try await disk.write({ try $0.giveUpRoom() }) else { throw error }
      try await write()
    }
  }

  /// Holds room for removals again, after the last of them.
  package func endRemoving() async {
    // Room that can't be held now is held by a later opening or removal.
    try? await disk?.write { try $0.keepRoom() }
  }
}
