import BothyCache
import Foundation
import Synchronization

/// Notices a network that answers for the server: when tiles that differed are replaced by one and the same thing, one
/// after the other, it is none of theirs. What they were is kept until then, and put back.
///
/// `ReplacementRule` judges each answer for itself; this looks at what many have in common.
final class ReplacementWatch: Sendable {
  private struct State {
    /// What came last; nil for the word that there is nothing.
    var body: Data?
    /// What it took the place of: each different.
    var replaced: [(key: ResourceKey, entry: CacheEntry)] = []
    var isTripped = false
  }

  /// So many different tiles that become the same are no longer the tiles' own affair: a quarter of a small region.
  private let limit: Int
  /// Whether tiles may go that the server says are gone, all of them.
  let removesGone: Bool
  private let state = Mutex(State())

  private static let mostReplaced = 6

  init(tiles: Int, removesGone: Bool) {
    limit = min(Self.mostReplaced, max(2, tiles / 4))
    self.removesGone = removesGone
  }

  /// Whether the answer may take the place of what is stored.
  func admits(_ admission: Admission) -> Bool {
    guard let old = admission.stored, !AnswerKind.isNegative(old.metadata.status) else {
      return state.withLock { !$0.isTripped }
    }
    let isNothing = admission.isNegative || admission.body.isEmpty
    if isNothing, removesGone { return true }
    return state.withLock { state in
      if state.isTripped { return false }
      let body = isNothing ? nil : admission.body
      if !isNothing, old.body == admission.body { return true }
      if state.body != body { (state.body, state.replaced) = (body, []) }
      if !state.replaced.contains(where: { $0.entry.body == old.body }) {
        state.replaced.append((admission.key, old))
      }
      // What the server says is gone is kept for now: that its word is the same for many shows later.
      guard state.replaced.count >= (isNothing ? Self.mostReplaced : limit) else { return true }
      state.isTripped = true
      // The last one has not been replaced.
      state.replaced.removeLast()
      return false
    }
  }

  /// Whether the network was found out.
  var isTripped: Bool { state.withLock { $0.isTripped } }

  /// What is to be put back, when the network was found out; nil when it was not.
  func found() -> [(key: ResourceKey, entry: CacheEntry)]? {
    state.withLock { state in
      guard state.isTripped else { return nil }
      defer { state.replaced = [] }
      // What the server says is gone was kept.
      return state.body == nil ? [] : state.replaced
    }
  }

  /// Why a run ends then.
  static let reason = CacheError(
    .unexpectedContent,
    "Many different tiles would have become the same, as on a network that wants a sign-in first, or with a server that "
      + "has moved. What is stored was kept. Sign in, or see to the source's address, then resume.")
}
