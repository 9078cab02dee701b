import Synchronization

/// The phase of a server's life, for `/readyz`.
final class ServerPhase: Sendable {
  private enum Phase { case starting, serving, draining }

  private let phase = Mutex(Phase.starting)

  /// The server listens.
  func serve() { phase.withLock { if $0 == .starting { $0 = .serving } } }

  /// The server is going to stop. It stays in this phase.
  func drain() { phase.withLock { $0 = .draining } }

  /// The reason why the server takes no new work, or `nil` if it does.
  var problem: HTTPFailure? {
    switch phase.withLock({ $0 }) {
    case .serving: nil
    case .starting: .unavailable("The server is starting.")
    case .draining: .unavailable("The server is about to stop.")
    }
  }
}
