import BothyCache
import Foundation
import Synchronization

/// Detects a network that responds in place of the server. If it replaces several different tiles with identical
/// content, the content isn't theirs. The replaced tiles are stored until then and restored.
///
/// `ReplacementRule` checks each response on its own. This type compares many responses.
final class ReplacementWatch: Sendable {
  private struct State {
    /// The last received content, or `nil` for a response that the tile doesn't exist.
    var body: Data?
    /// The distinct entries that this content replaced.
    var replaced: [(key: ResourceKey, entry: CacheEntry)] = []
    var isTripped = false
  }

  /// The number of different tiles with identical new content that trips the watch: a quarter of a small region.
  private let limit: Int
  /// True if all tiles that the server reports as gone may be deleted.
  let removesGone: Bool
  private let state = Mutex(State())

  private static let mostReplaced = 6

  init(tiles: Int, removesGone: Bool) {
    limit = min(Self.mostReplaced, max(2, tiles / 4))
    self.removesGone = removesGone
  }

  /// Returns true if the response may replace the stored tile.
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
      // A tile that the server reports as gone stays for now: only later does it show that many have this response.
      guard state.replaced.count >= (isNothing ? Self.mostReplaced : limit) else { return true }
      state.isTripped = true
      // The last entry has not been replaced.
      state.replaced.removeLast()
      return false
    }
  }

  /// True if the network was detected.
  var isTripped: Bool { state.withLock { $0.isTripped } }

  /// Returns the entries to restore if the network was detected, otherwise `nil`.
  func found() -> [(key: ResourceKey, entry: CacheEntry)]? {
    state.withLock { state in
      guard state.isTripped else { return nil }
      defer { state.replaced = [] }
      // Tiles reported as gone were never replaced.
      return state.body == nil ? [] : state.replaced
    }
  }

  /// The error that ends a run in this case.
  static let reason = BothyError(
    .unexpectedContent,
    "Many different tiles came with the same content, as on a network that wants a sign-in first, or with a server "
      + "that has moved. The stored tiles were kept. Sign in, or see to the source's address, then resume.")
}
