import BothyCore
import BothyStore
import BothySyncService
import Synchronization

/// Sends questions to the team's back end: within a time, a number at a time, and none a moment after a silence. Requests
/// are signed like those of webhooks.
///
/// `WriteCallout` and `SpaceCallout` differ only in what they ask.
final class SignedCallout: Sendable {
  /// The address, the secret and the limits of the requests.
  struct Terms: Sendable {
    var url: String
    /// The text of a secret's file.
    var secret: [UInt8]
    /// The longest time from a question to its answer, with the wait for a free place.
    var time: Duration
    /// The most bytes of an answer.
    var answerSize: Int
    /// The number of requests at a time.
    var requests: Int
    /// The number of questions that wait for a place.
    var waiting: Int
  }

  /// The time since a question was sent, or zero while it waits for a place.
  private final class Watch: Sendable {
    private let elapsed = Mutex<(@Sendable () -> Duration)?>(nil)

    var time: Duration { elapsed.withLock { $0 }?() ?? .zero }

    func start(_ clock: some Clock<Duration>) {
      let start = clock.now
      elapsed.withLock { $0 = { start.duration(to: clock.now) } }
    }
  }

  private let terms: Terms
  private let keys: Mutex<[[UInt8]]>
  private let clock: any Clock<Duration>
  private let now: @Sendable () -> Int64
  private let send: @Sendable (OutboundRequest) async throws -> OutboundResponse
  private let permits: AsyncSemaphore
  /// The time until which the back end isn't asked, in milliseconds since 1970.
  private let silentUntil = Mutex<Int64?>(nil)
  /// The pause after a request without an answer, in milliseconds.
  private static let pause: Int64 = 1000
  private static let receiver = "the back end"

  /// Sends nothing. Throws `BothyError` for an address without TLS that isn't on this machine, and for a weak secret.
  init(
    _ terms: Terms, clock: any Clock<Duration>, now: @escaping @Sendable () -> Int64,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) throws {
    guard ConfidentialAddress.accepts(terms.url) else {
      throw BothyError(
        .invalidValue,
        "The back end at \(terms.url) isn't asked, because its address has no TLS. Give one with https://.")
    }
    keys = Mutex(try RequestSignature.keys(terms.secret, of: Self.receiver))
    self.terms = terms
    self.clock = clock
    self.now = now
    self.send = send
    permits = AsyncSemaphore(width: max(1, terms.requests), queue: terms.waiting)
  }

  /// Signs later requests with another secret. Throws for an unsuitable one, and keeps the secret then.
  func replace(secret: [UInt8]) throws {
    let found = try RequestSignature.keys(secret, of: Self.receiver)
    keys.withLock { $0 = found }
  }

  /// Returns the body of the answer to a question in JSON. Throws `CalloutOutage` without one, with another status than
  /// 200, and for an answer that is too large.
  func answer(to question: [UInt8]) async throws -> [UInt8] {
    do {
      let response = try await response(to: question)
      guard response.status == 200 else { throw CalloutOutage.status(response.status) }
      guard response.body.count <= terms.answerSize else { throw tooLarge }
      return response.body
    } catch let outage as CalloutOutage {
      if outage.isSilent { silentUntil.withLock { $0 = now() + Self.pause } }
      throw outage
    }
  }

  private var tooLarge: CalloutOutage { .answer("it has more than \(terms.answerSize) bytes") }

  /// Throws `CalloutOutage` when the time is over. A question that waited in line for most of it says nothing about the
  /// back end.
  private func response(to body: [UInt8]) async throws -> OutboundResponse {
    try checkPause()
    let watch = Watch()
    do {
      let response = try await within(terms.time, by: clock, orThrow: CalloutOutage.late) {
        try await self.sendInTurn(body, watch)
      }
      silentUntil.withLock { $0 = nil }
      return response
    } catch let outage as CalloutOutage where outage == .late && watch.time * 2 < terms.time {
      throw CalloutOutage.crowded
    }
  }

  private func checkPause() throws(CalloutOutage) {
    if let end = silentUntil.withLock({ $0 }), case let left = end - now(), (1...Self.pause).contains(left) {
      throw .paused
    }
  }

  private func sendInTurn(_ body: [UInt8], _ watch: Watch) async throws -> OutboundResponse {
    do {
      return try await permits.withPermit {
        // Others may have learned meanwhile that the back end is silent.
        try checkPause()
        watch.start(clock)
        var headers = RequestSignature.fields(
          id: UUIDv7.make(), time: now() / 1000, body: body, keys: keys.withLock { $0 })
        headers["Content-Type"] = "application/json"
        headers["Accept"] = "application/json"
        return try await send(
          OutboundRequest(url: terms.url, headers: headers, body: body, timeout: terms.time))
      }
    } catch is OutboundResponse.TooLarge {
      throw tooLarge
    } catch is AsyncSemaphore.Crowded {
      throw CalloutOutage.crowded
    } catch let outage as CalloutOutage {
      throw outage
    } catch {
      // A cancelled task is that of a request whose time is over, or of a caller who has left.
      try Task.checkCancellation()
      throw CalloutOutage.unreachable
    }
  }
}
