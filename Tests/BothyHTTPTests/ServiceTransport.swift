import BothyHTTP
import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import HTTPTypes
import Synchronization

/// A network stack without a socket, in front of the real server rules.
///
/// It accepts the tokens that a test calls valid, and returns the responses that a test sets.
final class ServiceTransport: HTTPTransport {
  private struct State {
    var users: [String: String]
    var script: @Sendable (Int) -> TransportResponse? = { _ in nil }
    var tokens: [String?] = []
    var statuses: [Int] = []
  }

  let authority: SyncService
  private let space: String
  private let state: Mutex<State>

  /// Creates the transport.
  /// - Parameter principals: the user of each valid token.
  init(_ authority: SyncService, space: String = "hut", users: [String: String]) {
    self.authority = authority
    self.space = space
    state = Mutex(State(users: users))
  }

  /// The tokens of all requests, in order, with the status of each response.
  var tokens: [String?] { state.withLock { $0.tokens } }
  var statuses: [Int] { state.withLock { $0.statuses } }

  func setUsers(_ users: [String: String]) { state.withLock { $0.users = users } }

  /// Sets a script that is called with the number of each request, from 1. Its response replaces the server's.
  func setScript(_ script: @escaping @Sendable (Int) -> TransportResponse?) {
    state.withLock { $0.script = script }
  }

  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
    let token = request.headers[.authorization].map { String($0.dropFirst("Bearer ".count)) }
    let (script, number) = state.withLock { state in
      state.tokens.append(token)
      return (state.script, state.tokens.count)
    }
    let scripted = script(number)
    let user = state.withLock { state in token.flatMap { state.users[$0] } }
    let response: TransportResponse
    if let scripted {
      response = scripted
    } else if let user {
      response = await answer(request, Caller(user))
    } else {
      response = TransportResponse(status: 401)
    }
    state.withLock { $0.statuses.append(response.status) }
    return response
  }

  private func answer(_ request: TransportRequest, _ user: Caller) async -> TransportResponse {
    do {
      let received = try SyncRequest(decoding: request.body)
      let answer = try await authority.sync(space: space, user: user, received)
      return TransportResponse(status: 200, body: answer.encoded())
    } catch let error as SyncServiceError {
      let body: JSONValue = [
        "error": ["code": .string(error.code.rawValue), "message": .string(error.message)]
      ]
      return TransportResponse(status: 422, body: Array(body.canonicalText.utf8))
    } catch {
      return TransportResponse(status: 500)
    }
  }

  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
    throw RemoteError(.unreachable, "There are no events here.")
  }
}
