import BothyHTTP
import BothySync
import HTTPTypes
import Synchronization

/// A transport that fails by a script, like a network.
final class FaultyTransport: HTTPTransport {
  enum Fault: Sendable {
    case none, lostRequest, lostAnswer, duplicated
    case status(Int, retryAfter: String? = nil)
  }

  private struct State: Sendable {
    var script: @Sendable (TransportRequest) -> Fault = { _ in .none }
    var requests: [TransportRequest] = []
  }

  private let transport: any HTTPTransport
  private let state = Mutex(State())

  init(_ transport: any HTTPTransport) { self.transport = transport }

  /// The requests that were tried, in order.
  var requests: [TransportRequest] { state.withLock { $0.requests } }

  func setScript(_ script: @escaping @Sendable (TransportRequest) -> Fault) {
    state.withLock { $0.script = script }
  }

  func send(_ request: TransportRequest) async throws(RemoteError) -> TransportResponse {
    let fault = state.withLock { state in
      state.requests.append(request)
      return state.script(request)
    }
    switch fault {
    case .none: return try await transport.send(request)
    case .lostRequest: throw Self.lost
    case .lostAnswer:
      _ = try await transport.send(request)
      throw Self.lost
    case .duplicated:
      _ = try await transport.send(request)
      return try await transport.send(request)
    case .status(let status, let retryAfter):
      var headers: HTTPFields = [.date: "Sat, 21 Nov 2026 05:38:50 GMT"]
      headers[.retryAfter] = retryAfter
      return TransportResponse(status: status, headers: headers)
    }
  }

  func open(_ request: TransportRequest) async throws(RemoteError) -> TransportStream {
    try await transport.open(request)
  }

  static let lost = RemoteError(.unreachable, "The connection was lost.")
}
