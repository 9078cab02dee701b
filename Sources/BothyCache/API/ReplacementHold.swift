internal import HTTPTypes
internal import Synchronization

/// New versions of tiles that came over plain HTTP, until the content of another tile differs from them.
///
/// A network that wants a sign-in can answer each request over plain HTTP with the same content. So one new version
/// alone replaces nothing behind a reader, and nothing that is pinned. A version is held until a later one is stored,
/// also by another process, or the network changes.
final class ReplacementHold: Sendable {
  struct Held: Sendable {
    var key: ResourceKey
    var entry: CacheEntry
    var digest: StoredDigest
    /// The time at which the bytes came that were stored when the version was requested.
    var known: Int64?
    /// The time of the response, in milliseconds since 1970.
    var time: Int64
  }

  private let held = Mutex<[Held]>([])

  /// The time within which another tile must come.
  private static let window: Int64 = 10_000
  private static let most = 16

  /// Adds a new version. Returns the versions that may be stored now, or none.
  func offer(_ key: ResourceKey, _ entry: CacheEntry, known: Int64?, at now: Int64) -> [Held] {
    let new = Held(
      key: key, entry: entry, digest: StoredDigest(of: entry.body), known: known, time: now)
    return held.withLock { held in
      held.removeAll { $0.key == key || abs(now.subtractingClamped($0.time)) > Self.window }
      let others = held.filter { $0.key.source == key.source }
      held.append(new)
      guard others.contains(where: { $0.digest != new.digest }) else {
        held = held.suffix(Self.most)
        return []
      }
      held.removeAll { $0.key.source == key.source }
      let all = others + [new]
      // Contents that several tiles have are not confirmed by a third one.
      return all.filter { one in all.count { $0.digest == one.digest } == 1 }
    }
  }

  /// Forgets the versions of resources that were removed or stored, or all for `nil`.
  func forget(_ keys: [ResourceKey]?) {
    held.withLock { held in
      guard let keys, !held.isEmpty else { return held = [] }
      let gone = Set(keys)
      held.removeAll { gone.contains($0.key) }
    }
  }
}

/// New versions of tiles that must be confirmed.
extension ResourceCache {
  /// True if the new version of a stored tile must be confirmed by another tile: it came over plain HTTP, behind a
  /// reader or for a pinned tile.
  ///
  /// A caller with `admits`, such as the run of a region, compares the tiles itself.
  func mustBeConfirmed(_ demand: Demand, _ entry: CacheEntry) async -> Bool {
    guard case .tile = demand.key.name, demand.options.admits == nil,
      let replaced = demand.replaced, !replaced.isAbsent, replaced.entry.body != entry.body,
      demand.order([:]).urls.contains(where: { Origin($0)?.scheme == "http" })
    else { return false }
    if demand.isBehind() { return true }
    guard let disk else { return false }
    let key = demand.key
    // If the disk can't say whether the tile is pinned, it counts as pinned.
    return (try? await disk.read { try $0.isPinned(key) }) ?? true
  }

  /// Holds a new version, and stores those that it confirms. Readers receive it in any case.
  func keepConfirmed(
    _ key: ResourceKey, _ entry: CacheEntry, known: Int64?, _ ticket: InvalidationTracker.Ticket
  ) async -> FetchOutcome {
    forgetReplaced()
    let confirmed = hold.offer(key, entry, known: known, at: clock.wall())
    var outcome: FetchOutcome?
    for one in confirmed {
      let stored = await keep(
        one.key, one.entry, wasSame: false, origin: .network, known: one.known, ticket)
      if one.key == key { outcome = stored }
    }
    return outcome ?? handOut(key, entry, .unconfirmed)
  }
}
