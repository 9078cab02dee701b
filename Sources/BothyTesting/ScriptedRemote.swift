package import BothyStore
public import BothySync
import Synchronization

/// A server that follows a script: it answers each exchange with the next step.
///
/// After the last step it can't be reached. Use it for responses that a real server never gives, or gives too seldom.
/// Queries, counts and digests are not scripted and can't be reached.
public final class ScriptedRemote: RemoteStorage, CompleteRemote {
  /// The response to one exchange.
  public enum Step: Sendable {
    /// Returns this response, whatever the request.
    case answer(SyncResponse)
    /// Returns a response that is computed from the request.
    case reply(@Sendable (SyncRequest) throws -> SyncResponse)
    /// Throws this error, of the network or of the server.
    case fail(RemoteError)
    /// Waits for the latch, then takes the next step.
    case wait(Latch)
  }

  private struct State {
    var steps: [Step]
    var requests: [SyncRequest] = []
  }

  private let state: Mutex<State>

  /// Creates a server with these steps. `append` adds more.
  public init(_ steps: [Step] = []) { state = Mutex(State(steps: steps)) }

  /// The exchanges so far, in order.
  public var requests: [SyncRequest] { state.withLock { $0.requests } }

  /// The number of steps that are left.
  public var stepsLeft: Int { state.withLock { $0.steps.count } }

  /// Adds steps after those that are left. A script that had ended continues.
  public func append(_ steps: Step...) { state.withLock { $0.steps += steps } }

  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    state.withLock { $0.requests.append(request) }
    while true {
      let step = state.withLock { $0.steps.isEmpty ? nil : $0.steps.removeFirst() }
      switch step {
      case nil: throw RemoteError(.unreachable, "The script has no further answer.")
      case .answer(let response): return response
      case .reply(let make):
        do { return try make(request) } catch let error as RemoteError { throw error } catch {
          throw RemoteError(.serverError, "The script failed: \(error)", status: 500)
        }
      case .fail(let error): throw error
      case .wait(let latch): await latch.pass()
      }
    }
  }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    throw Self.unscripted
  }
  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int { throw Self.unscripted }
  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { throw Self.unscripted }
  private static let unscripted = RemoteError(.unreachable, "The script has exchanges only.")
}
