import Synchronization

/// The number of open connections, with a limit, and the connections that the server ended.
package final class ConnectionCount: Sendable {
  /// The reason why the server ended a connection.
  package enum Ending: String, Sendable, CaseIterable { case full, slowHeader, slowBody, slowReader }

  /// The error for a connection beyond the limit.
  package struct Full: Error {}

  private struct State: Sendable {
    var open = 0
    var ended: [Ending: Int64] = [:]
  }

  private let limit: Int
  private let state = Mutex(State())

  package init(limit: Int) { self.limit = max(1, limit) }

  /// The number of open connections.
  package var open: Int { state.withLock { $0.open } }

  /// Returns the number of connections that were ended for a reason.
  package func ended(_ reason: Ending) -> Int64 { state.withLock { $0.ended[reason] ?? 0 } }

  /// Counts a new connection. Returns false beyond the limit, and counts nothing but the refusal then.
  package func enter() -> Bool {
    state.withLock { state in
      guard state.open < limit else {
        state.ended[.full, default: 0] += 1
        return false
      }
      state.open += 1
      return true
    }
  }

  /// Notes the end of a connection for which `enter` returned true.
  package func leave() { state.withLock { $0.open -= 1 } }

  func end(_ slowness: ConnectionPace.Slowness) {
    let reason: Ending =
      switch slowness {
      case .slowHeader: .slowHeader
      case .slowBody: .slowBody
      case .slowReader: .slowReader
      }
    state.withLock { $0.ended[reason, default: 0] += 1 }
  }
}
