internal import HTTPTypes

/// The place of new versions of entries, until they replace the stored ones together.
package struct EntryStage: Sendable, Hashable {
  private let name: String
  /// The holder of their pins.
  package var holder: String { Self.start + name }

  private static let start = "stage:"

  /// Creates the place with a name that no other stage has. The name has no slash.
  package init(_ name: String) { self.name = name }

  /// Returns the name of the stage with this holder or source, or `nil` for others.
  static func name(of text: String) -> String? {
    guard text.hasPrefix(start) else { return nil }
    return String(text.dropFirst(start.count).prefix { $0 != "/" })
  }

  /// Returns the key of a staged version. Each source has one of its own on the stage, which no reader asks for.
  func key(for key: ResourceKey) -> ResourceKey {
    ResourceKey(SourceID("\(Self.start)\(name)/\(key.source.name)"), key.name)
  }

  /// Returns the sources of the stage among others.
  func sources(among all: some Sequence<SourceID>) -> [SourceID] {
    all.filter { Self.name(of: $0.name) == name }
  }

  /// Returns the sources of all stages that have newer versions of a source's entries.
  static func sources(for source: SourceID, among all: some Sequence<SourceID>) -> [SourceID] {
    all.filter { Self.name(of: $0.name) != nil && $0.name.drop { $0 != "/" }.dropFirst() == source.name }
  }

  /// Returns the staged version of an entry, or `nil`. Of several, the newest.
  func entry(for key: ResourceKey, in store: any DiskCache.Reader) throws -> CacheEntry? {
    try self.key(for: key).variants.compactMap { try store.entry($0) }
      .max { $0.metadata.validatedAt < $1.metadata.validatedAt }
  }
}

/// Staging: a refresh collects new versions beside the stored ones, which readers receive until all is complete.
extension ResourceCache {
  /// Stores a new version of an entry on the stage. Readers keep receiving the stored one.
  ///
  /// - Parameter known: the time at which the bytes came that were stored when the version was requested.
  func keepStaged(
    _ key: ResourceKey, _ entry: CacheEntry, _ stage: EntryStage, known: Int64?,
    _ ticket: InvalidationTracker.Ticket
  ) async -> FetchOutcome {
    let (place, requestedAt) = (stage.key(for: key), entry.metadata.requestedAt)
    var outcome = CachedResource.StorageOutcome.notStored(.noDisk)
    if let disk {
      do {
        let replaced = try await disk.write { store -> Int64? in
          try store.pin([place], by: stage.holder)
          guard let stored = try store.metadata(key) else { return nil }
          // A reader's version that was requested later stays, as this one doesn't name it.
          let isNewer = known != nil && stored.receivedAt != known && stored.requestedAt > requestedAt
          return isNewer ? known : stored.receivedAt
        }
        let report = await disk.store(place, entry.replacing(replaced), hasOthers: false) { [generations] in
          generations.isCurrent(ticket, key)
        }
        noteEvictedFromDisk(report.evicted)
        outcome = report.outcome == .stored ? .staged : report.outcome
      } catch {
        let isFull = (error as? BothyError)?.code == .diskFull
        outcome = .notStored(isFull ? .diskFull : .failed("\(error)"))
      }
    }
    board.count(key.source) { $0.loaded += 1 }
    let resource = CachedResource(
      key: key, stored: StoredEntry(entry), origin: .network, freshness: .fresh,
      age: entry.metadata.age(at: entry.metadata.validatedAt), storage: outcome)
    return .resource(resource, isNew: true)
  }

  /// Returns the metadata of each staged version, or `nil` where none exists.
  ///
  /// Neither does one count that won't replace the stored entry, because another content has replaced that since.
  package func staged(_ keys: [ResourceKey], on stage: EntryStage) async throws -> [EntryMetadata?] {
    guard let disk else { return keys.map { _ in nil } }
    return try await disk.read { store in
      try keys.map { key in
        let place = stage.key(for: key)
        let staged = try place.variants.lazy.compactMap { try store.metadata($0) }.first
        guard let staged, let known = try store.metadata(key), Self.isRenewed(known, since: staged) else {
          return staged
        }
        let digests = try store.digests([key, place])
        return digests[0] == digests[1] ? staged : nil
      }
    }
  }

  /// Returns the checksums of contents that several staged versions have, as those of a network that wants a sign-in.
  ///
  /// - Parameters:
  ///   - documents: the entries that don't count.
  ///   - isDoubted: true if a content counts too that is the only one.
  package func repeatedChecksums(
    on stage: EntryStage, besides documents: Set<ResourceKey>, orOnly isDoubted: Bool
  ) async throws -> Set<UInt64> {
    guard let disk else { return [] }
    let left = Set(documents.map { stage.key(for: $0) })
    return try await disk.read { store in
      var keys: [ResourceKey] = []
      try store.forEachPin(by: stage.holder) { key, _, _ in
        if !left.contains(key) { keys.append(key) }
      }
      var seen: Set<UInt64> = []
      var repeated: Set<UInt64> = []
      for part in keys.parts(of: 256) {
        for case let digest? in try store.digests(Array(part))
        where !seen.insert(digest.checksum).inserted { repeated.insert(digest.checksum) }
      }
      return isDoubted && seen.count == 1 ? seen : repeated
    }
  }

  /// Returns the digest of each staged version, or `nil` where none exists.
  package func digests(_ keys: [ResourceKey], on stage: EntryStage) async throws -> [StoredDigest?] {
    try await digests(keys.map { stage.key(for: $0) })
  }

  /// Returns the digest of each stored entry, or `nil` where nothing is stored. Reads no bodies.
  package func digests(_ keys: [ResourceKey]) async throws -> [StoredDigest?] {
    guard let disk else { return keys.map { _ in nil } }
    return try await disk.read { try $0.digests(keys) }
  }

  /// The number of bodies that `unstage` has in memory.
  private static let unstagedAtOnce = 16

  /// Replaces stored entries by their staged versions, where such exist. It may be repeated after any interruption.
  ///
  /// Readers receive either version in the meantime. Throws `.diskFull` if the disk has no room for both.
  ///
  /// - Returns: false if another content stays in place of a staged one, because it replaced the stored entry since.
  @discardableResult
  package func unstage(_ keys: [ResourceKey], from stage: EntryStage) async throws -> Bool {
    guard let disk else { return true }
    var isWhole = true
    for part in keys.parts(of: Self.unstagedAtOnce) {
      let moved: Staged
      do {
        let (staged, isReplaced) = try await disk.write { try Self.move(Array(part), from: stage, in: $0) }
        if isReplaced { isWhole = false }
        moved = staged
      } catch {
        // Some may be replaced, and the next call finds these as renewed.
        forgetOlder(Array(part))
        throw error
      }
      forgetOlder(moved.map(\.key))
      for (key, entry) in moved {
        hub.send(
          AnswerKind.isNegative(entry.metadata.status)
            ? .absent(key, status: entry.metadata.status) : .changed(key, bytes: entry.body.count))
      }
    }
    return isWhole
  }

  private typealias Staged = [(key: ResourceKey, entry: CacheEntry)]

  /// Replaces stored entries by their staged versions, and returns those.
  ///
  /// `isReplaced` is true if another content stays in place of a staged one.
  private static func move(
    _ keys: [ResourceKey], from stage: EntryStage, in store: any DiskCache.Store
  ) throws -> (moved: Staged, isReplaced: Bool) {
    var moved: Staged = []
    var isReplaced = false
    for key in keys {
      guard let entry = try stage.entry(for: key, in: store) else { continue }
      if let known = try store.metadata(key), isRenewed(known, since: entry.metadata) {
        if try store.digests([key]) != [StoredDigest(of: entry.body)] { isReplaced = true }
        try store.remove(stage.key(for: key).variants)
      } else {
        moved.append((key, entry.replacing(nil)))
      }
    }
    guard !moved.isEmpty else { return ([], isReplaced) }
    if let (key, obstacle) = try store.store(moved).refused.first {
      throw BothyError(
        obstacle == .diskFull ? .diskFull : .storage,
        "\(key) can't replace its older version. \(obstacle)")
    }
    // Entries for other requests are older than this one.
    try store.remove(moved.flatMap { $0.key.variants.dropFirst() })
    try store.remove(moved.flatMap { stage.key(for: $0.key).variants })
    return (moved, isReplaced)
  }

  /// Lets the next reads find what is on the disk now.
  private func forgetOlder(_ keys: [ResourceKey]) {
    replacements.note(keys)
    for key in keys { forgetInMemory(key) }
    hold.forget(keys)
    guard decoded.count > 0, !keys.isEmpty else { return }
    let changed = Set(keys)
    decoded.removeAll { key, _ in changed.contains(key.resource) }
  }

  /// True if a reader has replaced the stored entry since the other version was staged.
  ///
  /// The staged version names the entry that it replaces. Its time alone doesn't show the order, as clocks are set back.
  private static func isRenewed(_ known: EntryMetadata, since staged: EntryMetadata) -> Bool {
    if let replaced = CacheEntry.replaced(by: staged) { return known.receivedAt != replaced }
    // A stage of an earlier version of this library doesn't name it.
    return known.validatedAt > staged.validatedAt
  }

  /// Removes the staged versions of some entries. Their pins stay until the stage is dropped.
  package func dropStaged(_ keys: [ResourceKey], on stage: EntryStage) async throws {
    guard !keys.isEmpty else { return }
    try await disk?.write { try $0.remove(keys.flatMap { stage.key(for: $0).variants }) }
  }

  /// Returns the names of all stages that have versions or pins. Reads no entries.
  package func stages() async throws -> Set<String> {
    guard let disk else { return [] }
    return try await disk.read { store in
      Set(try (store.pinHolders() + store.totals().keys.map(\.name)).compactMap { EntryStage.name(of: $0) })
    }
  }

  /// True if a stage has versions or pins. Reads no entries.
  package func isUsed(_ stage: EntryStage) async throws -> Bool {
    guard let disk else { return false }
    return try await disk.read { store in
      try store.pinCount(by: stage.holder) > 0 || !stage.sources(among: store.totals().keys).isEmpty
    }
  }

  /// Pins the staged versions again if an index that was recreated has lost their pins.
  package func restorePins(of stage: EntryStage) async throws {
    try await disk?.write { store in
      let totals = try store.totals()
      for source in stage.sources(among: totals.keys) {
        guard let found = totals[source], found.pinnedCount < found.count else { continue }
        var keys: [ResourceKey] = []
        try store.forEach(source) { key, _, _ in keys.append(key.base) }
        try store.pin(keys, by: stage.holder)
      }
    }
  }

  /// Removes all staged versions.
  package func dropStage(_ stage: EntryStage) async throws {
    try await disk?.write { store in
      for source in stage.sources(among: try store.totals().keys) { try store.removeAll(source) }
      try store.unpin(nil, by: stage.holder)
    }
  }
}

/// The stored entry that a staged version replaces, named in a field that no reader receives.
extension CacheEntry {
  private static let field = HTTPField.Name("Bothy-Replaces")

  /// Returns the time at which the bytes of the replaced entry came, or `nil` if it isn't known.
  fileprivate static func replaced(by staged: EntryMetadata) -> Int64? {
    field.flatMap { staged.fields[$0] }.flatMap { Int64($0) }
  }

  /// Returns a version that names the entry that it replaces, or one without that name for `nil`.
  fileprivate func replacing(_ receivedAt: Int64?) -> CacheEntry {
    guard let field = Self.field else { return self }
    var copy = self
    copy.metadata.fields[field] = receivedAt.map { "\($0)" }
    return copy
  }
}
