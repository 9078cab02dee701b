import BothyCache
import Foundation
import Synchronization

/// Detects a network that responds in place of the server. If several different tiles in a row would become identical
/// content, the content isn't theirs. The same holds for redirects over plain HTTP to another host.
///
/// `ReplacementRule` checks each response on its own. This type compares many responses. The run of a region stages new
/// versions, so nothing has been replaced when the network is detected. For a map, which has no stage, a new version
/// waits until other tiles of its group have other content, or all have their answers. It learns if one of them shows
/// that the server itself responds.
///
/// A tile that isn't stored yet is compared with the others of the run. The second one with the same text, or the same
/// picture of more than one color, waits until a `NetworkProbe` has examined the network. The first one is stored
/// before, and removed by the run if the network is detected. A process that is killed in between leaves that one. If a
/// run ends with no other tile than such, the network is examined too. So it is when several tiles don't exist that
/// aren't stored: a server that now denies a tile which it has sent isn't the server.
package final class ReplacementWatch: Sendable {
  /// First content that more than one resource may have.
  private struct First {
    var content: StoredDigest
    var key: ResourceKey
  }

  private struct State {
    /// The latest first contents.
    var firsts: [First] = []
    /// The examinations of first contents, true for a network that responds in place of the server.
    var examinations: [StoredDigest: Task<Bool, Never>] = [:]
    /// The stored resources with content of such a network.
    var foreign: Set<ResourceKey> = []
    /// A tile of each source that its server has sent.
    var sent: [SourceID: ResourceKey] = [:]
    /// The tiles of each source that were stored as nonexistent since the last examination.
    var absent: [SourceID: [ResourceKey]] = [:]
    /// The number of these tiles at which the network is examined. It doubles each time.
    var mostAbsent = ReplacementWatch.mostReplaced
    /// The last received content, or `nil` for a response that the tile doesn't exist.
    var body: Data?
    /// The distinct contents that this content would replace, by digest.
    var replaced: Set<StoredDigest> = []
    /// The number of admitted new versions of stored tiles.
    var admitted = 0
    var reason: BothyError?
    /// True if a tile of the group was confirmed by its tag, which no network in place of the server knows.
    var isConfirmed = false
    /// True if tiles of the group have different new content.
    var hasDifferent = false
    /// The tiles of the group that have no answer yet.
    var awaited: Set<Tile> = []
    /// The versions that wait for them. All have the last received content.
    var waiting: [CheckedContinuation<Bool, Never>] = []

    /// Ends the waits, as all are for the same.
    mutating func settle(_ isAdmitted: Bool) {
      for version in waiting { version.resume(returning: isAdmitted) }
      waiting = []
    }
  }

  /// The number of different tiles with identical new content that trips the watch: a quarter of a small region.
  private let limit: Int
  /// True if all tiles that the server reports as gone may be deleted.
  let removesGone: Bool
  private let probe: NetworkProbe
  private let state = Mutex(State())

  private static let mostReplaced = 6
  /// The number of first contents to compare with, several times that of concurrent requests.
  private static let compared = 64

  init(tiles: Int, removesGone: Bool, _ probe: NetworkProbe) {
    limit = min(Self.mostReplaced, max(2, tiles / 4))
    self.removesGone = removesGone
    self.probe = probe
  }

  /// Creates a watch over a group of stored tiles. The last content of an earlier group counts further, so that tiles
  /// that are refreshed one by one are compared too.
  convenience init(over tiles: Set<Tile>, after earlier: ReplacementWatch?, _ probe: NetworkProbe) {
    self.init(tiles: tiles.count, removesGone: false, probe)
    let last = earlier?.last ?? (body: nil, replaced: [])
    state.withLock { ($0.awaited, $0.body, $0.replaced) = (tiles, last.body, last.replaced) }
  }

  /// The last received content, and what it replaced. Nothing if the server itself has responded.
  private var last: (body: Data?, replaced: Set<StoredDigest>) {
    state.withLock { $0.isConfirmed ? (nil, []) : ($0.body, $0.replaced) }
  }

  /// Returns true if the response may become the tile.
  func admits(_ candidate: ReplacementCandidate) async -> Bool {
    guard let old = candidate.stored, !AnswerKind.isNegative(old.metadata.status), !old.body.isEmpty else {
      return await admitsFirst(candidate)
    }
    let isNothing = candidate.isNegative || candidate.body.isEmpty
    if isNothing, removesGone { return true }
    if !isNothing, old.body == candidate.body { return !isTripped }
    let digest = StoredDigest(of: old.body)
    return state.withLock { admits(isNothing ? nil : candidate.body, over: digest, &$0) }
  }

  /// Returns true if content may replace other content. `nil` stands for a tile that doesn't exist.
  private func admits(_ body: Data?, over old: StoredDigest, _ state: inout State) -> Bool {
    if state.reason != nil { return false }
    if state.body != body {
      state.settle(true)
      (state.body, state.replaced) = (body, [])
    }
    state.replaced.insert(old)
    // A tile that the server reports as gone stays: only later does it show that many have this response.
    guard state.replaced.count < (body == nil ? Self.mostReplaced : limit) else {
      state.reason = body == nil ? Self.moved : Self.signIn
      state.settle(false)
      return false
    }
    state.admitted += 1
    return true
  }

  /// Waits until a new version may replace the stored one.
  ///
  /// Returns true if another tile of the group was confirmed, or has other new content.
  ///
  /// - Throws: `BothyError`, `.signInRequired` if several different tiles would have this content.
  func compare(_ body: Data, over old: StoredDigest, of tile: Tile) async throws(BothyError) -> Bool {
    let isAdmitted: Bool = await withCheckedContinuation { version in
      state.withLock { state in
        // The content of an earlier group may have come by another network.
        if state.admitted > 0, state.body != body { state.hasDifferent = true }
        if admits(body, over: old, &state) {
          state.waiting.append(version)
        } else {
          version.resume(returning: false)
        }
        note(tile, &state)
      }
    }
    if !isAdmitted { throw Self.sameContent }
    return state.withLock { $0.isConfirmed || $0.hasDifferent }
  }

  /// Notes that the server confirmed a stored tile.
  func confirmed() { state.withLock { $0.isConfirmed = true } }

  /// Notes that a tile of the group needs no comparison any more: it has one, or its load has ended.
  func ended(_ tile: Tile) { state.withLock { note(tile, &$0) } }

  private func note(_ tile: Tile, _ state: inout State) {
    state.awaited.remove(tile)
    // The loads that wait leave room for those that begin later.
    if state.awaited.isEmpty || state.waiting.count >= Self.mostReplaced { state.settle(true) }
  }

  /// Returns true if the response may become a tile that isn't stored.
  private func admitsFirst(_ candidate: ReplacementCandidate) async -> Bool {
    if isTripped || candidate.strangeHost != nil { return false }
    if candidate.isNegative {
      if candidate.stored != nil { return true }
      return await admitsAbsence(of: candidate.key)
    }
    noteSent(candidate.key)
    guard !candidate.body.isEmpty, let most = most(candidate) else { return true }
    let first = First(content: StoredDigest(of: candidate.body), key: candidate.key)
    guard let examination = state.withLock({ examination(of: first, after: most, &$0) }) else { return true }
    let isForeign = await examination.value
    return state.withLock { state in
      guard isForeign else { return state.reason == nil }
      state.reason = state.reason ?? Self.signIn
      state.foreign.formUnion(state.firsts.filter { $0.content == first.content }.map(\.key))
      return false
    }
  }

  /// Notes a tile that its server has sent, now or before.
  func noteSent(_ key: ResourceKey) {
    if Tile(key) != nil { state.withLock { $0.sent[key.source] = key } }
  }

  /// Returns true if a tile that isn't stored may be stored as nonexistent.
  private func admitsAbsence(of key: ResourceKey) async -> Bool {
    guard Tile(key) != nil else { return true }
    let sent = state.withLock { state -> ResourceKey? in
      guard let sent = state.sent[key.source] else { return nil }
      state.absent[key.source, default: []].append(key)
      return state.absent[key.source]?.count == state.mostAbsent ? sent : nil
    }
    if let sent { await examineAbsent(besides: sent) }
    return !isTripped
  }

  /// Examines the network with a tile that its server has sent, after others of the source didn't exist.
  private func examineAbsent(besides sent: ResourceKey) async {
    let isForeign = await probe.isGone(sent)
    state.withLock { state in
      let absent = state.absent.removeValue(forKey: sent.source) ?? []
      state.mostAbsent *= 2
      guard isForeign else { return }
      state.reason = state.reason ?? Self.moved
      state.foreign.formUnion(absent)
    }
  }

  /// Examines the network at the end of a run, for what no tile has shown.
  func examineAtEnd(of progress: RegionProgress) async {
    let (absent, sent) = state.withLock { ($0.absent, $0.sent) }
    for (source, tiles) in absent where tiles.count >= Self.mostReplaced {
      if let sent = sent[source] { await examineAbsent(besides: sent) }
    }
    await examineOnly(progress)
  }

  /// Examines the network at the end of a run whose tiles all came for the first time with one content, as nothing else
  /// shows who sent it.
  private func examineOnly(_ progress: RegionProgress) async {
    let firsts = state.withLock { $0.examinations.isEmpty ? $0.firsts : [] }
    guard progress.confirmed == 0, progress.loaded == firsts.count,
      let first = firsts.first, let last = firsts.last, Tile(first.key) != nil, Tile(last.key) != nil,
      firsts.allSatisfy({ $0.content == first.content }),
      await probe.findsNetwork(first.content, of: last.key, and: first.key)
    else { return }
    state.withLock { state in
      state.reason = state.reason ?? Self.signIn
      state.foreign.formUnion(firsts.map(\.key))
    }
  }

  /// Returns the number of resources that may have this first content without an examination, or `nil` for any number.
  private func most(_ candidate: ReplacementCandidate) -> Int? {
    switch candidate.repeated {
    case .usual: nil
    case .strange: 1
    case .unknown: limit - 1
    }
  }

  /// Returns the examination of first content, or `nil` if up to `most` resources have it, of which this is one.
  private func examination(of first: First, after most: Int, _ state: inout State) -> Task<Bool, Never>? {
    if let known = state.examinations[first.content] { return known }
    let equal = state.firsts.filter { $0.content == first.content && $0.key != first.key }
    guard equal.count >= most, let earlier = equal.first?.key else {
      state.firsts = state.firsts.suffix(Self.compared - 1) + [first]
      return nil
    }
    let task = Task { [probe] in await probe.findsNetwork(first.content, of: first.key, and: earlier) }
    state.examinations[first.content] = task
    return task
  }

  /// The stored resources whose content came from a network in place of the server.
  var foreign: [ResourceKey] { state.withLock { Array($0.foreign) } }

  /// True if the network was detected.
  var isTripped: Bool { reason != nil }

  /// The error that ends a run, or `nil` if the network wasn't detected.
  var reason: BothyError? { state.withLock { $0.reason } }

  /// The number of tiles that have an admitted new version.
  var admitted: Int { state.withLock { $0.admitted } }

  /// The error of a network that answers in place of the server.
  static let signIn = BothyError(
    .signInRequired,
    "Other content came in place of the tiles, as on a network that wants a sign-in first. The stored tiles were kept. "
      + "Sign in to the network, then resume. If no network asks for that, check the source's address.")

  private static let sameContent = BothyError(
    .signInRequired,
    "The same content came in place of several tiles, as on a network that wants a sign-in first. Sign in to the "
      + "network. If no network asks for that, check the source's address.")

  private static let moved = BothyError(
    .unexpectedContent,
    "Many tiles of the server no longer exist, as on a network that wants a sign-in first, or with a server that has "
      + "moved. The stored tiles were kept. Sign in, or see to the source's address, then resume.")
}
