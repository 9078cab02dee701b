import BothyCache
import Foundation
import HTTPTypes
import Synchronization

/// A network with a script. A closure returns its responses, and it counts its requests.
final class ScriptedLoader: ResourceLoader {
  struct Answer: Sendable {
    var status = 200
    var fields: HTTPFields = [:]
    var pieces: [Data] = []
    /// The failure at the end of the body, or `nil` if it ends well.
    var breaksOff: LoadFailure?
    var isMultiplexed = false
    var wasCoded = false
    var endsByClosing = false

    init(_ status: Int = 200, fields: HTTPFields = [:], _ body: String = "") {
      self.status = status
      self.fields = fields
      pieces = body.isEmpty ? [] : [Data(body.utf8)]
    }
  }

  private struct State {
    var requests: [ResourceRequest] = []
    var running: [String: Int] = [:]
    var most = 0
    var mostOfOneHost = 0
  }

  private let state = Mutex(State())
  private let answer: @Sendable (ResourceRequest) async throws -> Answer
  private let network: AsyncStream<NetworkState>?

  init(
    network: AsyncStream<NetworkState>? = nil,
    _ answer: @escaping @Sendable (ResourceRequest) async throws -> Answer
  ) {
    self.network = network
    self.answer = answer
  }

  func networkStates() -> AsyncStream<NetworkState>? { network }

  /// All requests so far, in order.
  var requests: [ResourceRequest] { state.withLock { $0.requests } }
  /// The largest number of simultaneous requests, in all and to one host.
  var most: Int { state.withLock { $0.most } }
  var mostOfOneHost: Int { state.withLock { $0.mostOfOneHost } }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let host = URL(string: request.url)?.host ?? ""
    state.withLock { state in
      state.requests.append(request)
      state.running[host, default: 0] += 1
      state.most = max(state.most, state.running.values.reduce(0, +))
      state.mostOfOneHost = max(state.mostOfOneHost, state.running[host] ?? 0)
    }
    defer { state.withLock { $0.running[host, default: 1] -= 1 } }
    let made: Answer
    do {
      made = try await answer(request)
    } catch let failure as LoadFailure {
      throw failure
    } catch is CancellationError {
      throw LoadFailure(.cancelled, "Cancelled.")
    } catch {
      throw LoadFailure(.unreachable, "\(error)")
    }
    let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
    for piece in made.pieces { continuation.yield(piece) }
    continuation.finish(throwing: made.breaksOff)
    return ResourceResponse(
      status: made.status, fields: made.fields, isMultiplexed: made.isMultiplexed, wasCoded: made.wasCoded,
      endsByClosing: made.endsByClosing, body: stream)
  }
}
