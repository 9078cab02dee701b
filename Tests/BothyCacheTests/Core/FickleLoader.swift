import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Synchronization

/// A network of varying quality. It responds, hangs, drips or shows a sign-in page, as a test sets it.
final class FickleLoader: ResourceLoader {
  enum Mood: Sendable {
    case answers(ScriptedLoader.Answer)
    /// Responds when a latch is open.
    case late(Latch, ScriptedLoader.Answer)
    /// Redirects requests for other addresses to an address, and responds there.
    case redirects(String, ScriptedLoader.Answer)
    /// Accepts the request and sends nothing until the caller leaves.
    case hangs
    /// Sends the head and one byte, then nothing until the caller leaves.
    case drips
  }

  private let state: Mutex<(mood: Mood, requests: Int)>
  private let network: AsyncStream<NetworkState>?
  /// Opened when a request has come while the network hangs or drips.
  let stuck = Latch()

  init(_ mood: Mood, network: AsyncStream<NetworkState>? = nil) {
    state = Mutex((mood, 0))
    self.network = network
    stuck.open()
  }

  static let page = ScriptedLoader.Answer(
    200, fields: [.contentType: "text/html"], "<html><body>Log in to the hotel</body></html>")

  var requests: Int { state.withLock { $0.requests } }
  func set(_ mood: Mood) { state.withLock { $0.mood = mood } }

  func networkStates() -> AsyncStream<NetworkState>? { network }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    let mood = state.withLock { state in
      state.requests += 1
      return state.mood
    }
    if case .late(let latch, _) = mood { await latch.pass() }
    switch mood {
    case .redirects(let target, _) where request.url != target:
      return ResourceResponse(
        status: 302, fields: [.location: target], body: AsyncThrowingStream { $0.finish() })
    case .answers(let answer), .late(_, let answer), .redirects(_, let answer):
      let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
      for piece in answer.pieces { continuation.yield(piece) }
      continuation.finish()
      return ResourceResponse(
        status: answer.status, fields: answer.fields, endsByClosing: answer.endsByClosing, body: stream)
    case .hangs:
      await stuck.pass()
      do { try await hang() } catch { throw LoadFailure(.cancelled, "The caller has left.") }
    case .drips:
      let (stream, continuation) = AsyncThrowingStream.makeStream(of: Data.self, throwing: (any Error).self)
      continuation.yield(Data([0x89]))
      await stuck.pass()
      let held = Mutex<AsyncThrowingStream<Data, any Error>.Continuation?>(continuation)
      continuation.onTermination = { _ in held.withLock { $0 = nil } }
      return ResourceResponse(status: 200, fields: [.contentType: "image/png"], body: stream)
    }
  }
}
