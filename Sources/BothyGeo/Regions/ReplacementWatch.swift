import BothyCache
import Foundation
import Synchronization

/// Detects a network that responds in place of the server. If several different tiles in a row would become identical
/// content, the content isn't theirs. The same holds for redirects over plain HTTP to another host.
///
/// `ReplacementRule` checks each response on its own. This type compares many responses. A run stages new versions, so
/// nothing has been replaced when the network is detected.
final class ReplacementWatch: Sendable {
  private struct State {
    /// The last received content, or `nil` for a response that the tile doesn't exist.
    var body: Data?
    /// The distinct contents that this content would replace, by digest.
    var replaced: Set<StoredDigest> = []
    /// The number of admitted new versions of stored tiles.
    var admitted = 0
    var reason: BothyError?
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

  /// Returns true if the response may become the tile.
  func admits(_ admission: Admission) -> Bool {
    guard let old = admission.stored, !AnswerKind.isNegative(old.metadata.status), !old.body.isEmpty else {
      return state.withLock { $0.reason == nil } && admission.strangeHost == nil
    }
    let isNothing = admission.isNegative || admission.body.isEmpty
    if isNothing, removesGone { return true }
    if !isNothing, old.body == admission.body { return !isTripped }
    return state.withLock { state in
      if state.reason != nil { return false }
      let body = isNothing ? nil : admission.body
      if state.body != body { (state.body, state.replaced) = (body, []) }
      state.replaced.insert(StoredDigest(of: old.body))
      // A tile that the server reports as gone stays: only later does it show that many have this response.
      guard state.replaced.count < (isNothing ? Self.mostReplaced : limit) else {
        state.reason = isNothing ? Self.moved : Self.signIn
        return false
      }
      state.admitted += 1
      return true
    }
  }

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

  private static let moved = BothyError(
    .unexpectedContent,
    "Many stored tiles no longer exist, as on a network that wants a sign-in first, or with a server that has moved. The "
      + "stored tiles were kept. Sign in, or see to the source's address, then resume.")
}
