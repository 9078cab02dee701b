package import BothyStore
public import BothySync
import Synchronization

/// A server that follows a script: it answers each exchange with the next step.
///
/// After the last step it can't be reached. Use it for responses that a real server never gives, or gives too seldom.
/// Queries, counts and digests are not scripted and can't be reached. It has no blobs, and its stream of notifications
/// ends at once. Exchanges at a time take steps in the order in which they arrive.
///
/// ```swift
/// let server = ScriptedRemote([.fail(RemoteError(.throttled, "Wait.", status: 503, retryAfter: 2))])
/// let store = try SyncedStore(at: nil, schema: [Todo.self], remote: server)
/// await store.sync()
/// show("\(server.requests.count) request, \(server.stepsLeft) steps left")
/// ```
public final class ScriptedRemote: RemoteStorage, CompleteRemote {
  /// The response to one exchange.
  ///
  /// Each step is used once. `wait` is a step of its own, before that which answers.
  public enum Step: Sendable {
    /// Returns this response, whatever the request.
    ///
    /// Its outcomes need the ids of the operations that the device sent, which `reply` knows.
    case answer(SyncResponse)
    /// Returns a response that is computed from the request.
    ///
    /// A `RemoteError` from the closure is the answer. Any other error becomes `serverError` with the status 500.
    case reply(@Sendable (SyncRequest) throws -> SyncResponse)
    /// Throws this error, of the network or of the server.
    ///
    /// The device can't see if the server executed the request.
    case fail(RemoteError)
    /// Waits for the latch, then takes the next step.
    ///
    /// Without a next step the server can't be reached. A cancelled request waits all the same.
    case wait(Latch)
  }

  private struct State {
    var steps: [Step]
    var requests: [SyncRequest] = []
  }

  private let state: Mutex<State>

  /// Creates a server with these steps. `append` adds more.
  ///
  /// Without steps every exchange throws `RemoteError` `unreachable`.
  public init(_ steps: [Step] = []) { state = Mutex(State(steps: steps)) }

  /// The exchanges so far, in order.
  ///
  /// A request is added before its step is taken, so those that wait or failed are included. All are kept in memory.
  public var requests: [SyncRequest] { state.withLock { $0.requests } }

  /// The number of steps that are left.
  ///
  /// Each `wait` counts as one. At 0 the next exchange throws `RemoteError` `unreachable`.
  public var stepsLeft: Int { state.withLock { $0.steps.count } }

  /// Adds steps after those that are left. A script that had ended continues.
  ///
  /// May be called while an exchange waits for a latch, which then takes the added step.
  public func append(_ steps: Step...) { state.withLock { $0.steps += steps } }

  /// Answers with the next step, after the latches before it.
  ///
  /// - Throws: the error of the step, or `RemoteError` `unreachable` after the last one.
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
