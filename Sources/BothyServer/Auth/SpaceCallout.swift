import BothyCore
import BothySyncService
import Crypto
import Synchronization

/// Leaves the decision about the spaces of users to the team's own back end, by signed requests over HTTP.
///
/// It is for users of JSON Web Tokens. The back end's address receives a POST with the user, its groups and the
/// chosen claims as JSON, and answers 200 with all spaces of the user, each with the right to read or to write. Any other
/// answer opens nothing, like no answer. Requests are signed like those of webhooks.
public final class SpaceCallout: Sendable {
  /// The limits of the requests to the back end, and the times for which its answers hold.
  public struct Limits: Sendable, Hashable {
    /// The longest time from a question to its answer, with the wait for a free place. The default is 2
    /// seconds.
    public var time: Duration = .seconds(2)
    /// The number of requests at a time. As many as a thousand wait for a place.
    public var requests = 8
    /// The time for which a user may use a space after the question that opened it. The default is 5 minutes.
    ///
    /// It is also the time after which a space that is withdrawn is closed.
    public var lifetime: Duration = .seconds(300)
    /// The time for which a space stays closed to a user after an answer without it. The default is 10 seconds.
    public var refusalLifetime: Duration = .seconds(10)
    /// The time for which a user may use a space, counted from the last answer, while the back end doesn't answer. The
    /// default is an hour.
    ///
    /// After it, requests receive 503. With zero, they do so as soon as `lifetime` is over.
    public var outageTime: Duration = .seconds(3600)
    /// The number of users whose spaces are kept in memory, by default 10,000.
    ///
    /// Beyond it those that sent no request for long are forgotten, and asked about again.
    public var principals = 10_000

    /// Makes the default limits.
    public init() {}
  }

  /// The origin of what a look found, as a word of `/metrics`.
  enum Look: String { case known, asked, kept, unavailable }

  /// Something that is counted.
  enum Event {
    case look(Look)
    /// A question that was answered or not.
    case asked(Duration, CalloutOutage?)
  }

  private struct State {
    var memory: SpaceMemory
    /// The questions under way. Each user has one at most, and all of its requests wait for that.
    var flights: [SHA256Digest: Task<Result<SpaceMemory.Known, CalloutOutage>, Never>] = [:]
    var observers: [@Sendable (Event) -> Void] = []
  }

  /// The names of the claims that the back end gets to know.
  let claims: [String]
  private let callout: SignedCallout
  private let now: @Sendable () -> Int64
  private let state: Mutex<State>

  /// Makes the value. Sends nothing.
  ///
  /// Throws `BothyError` for an address without TLS that isn't on this machine, and for a weak secret.
  ///
  /// - Parameters:
  ///   - secret: the text of a secret's file. Each line is a key of 24 bytes at least, or `whsec_` and a key in Base64.
  ///   - claims: the claims of tokens that the back end gets to know, besides the user and its groups. If no claim
  ///     has the whole name, dots lead into objects.
  ///   - clock: the clock of the time limit.
  ///   - now: the server's clock, in milliseconds since 1970, for signatures and the age of answers.
  ///   - send: sends a request and returns the answer, whatever its status is. It ends soon after its task is
  ///     cancelled, and throws `OutboundResponse.TooLarge` beyond 256 KiB.
  public init(
    url: String, secret: [UInt8], claims: [String] = [], limits: Limits = Limits(),
    clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Int64 = ServerConfiguration.systemClock,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) throws {
    callout = try SignedCallout(
      .init(
        url: url, secret: secret, time: limits.time, answerSize: SpaceAnswer.size,
        requests: limits.requests, waiting: 1000), clock: clock, now: now, send: send)
    self.claims = claims
    self.now = now
    state = Mutex(State(memory: SpaceMemory(limits)))
  }

  /// The most bytes of an answer.
  package static let answerSize = SpaceAnswer.size

  /// Signs later requests with another secret. Requests that are under way keep theirs.
  ///
  /// - Parameter secret: the bytes of the secret's file, as for `init`.
  /// - Throws: `BothyError` `.invalidValue` for an unsuitable one, and keeps the secret then.
  public func replace(secret: [UInt8]) throws { try callout.replace(secret: secret) }

  /// Calls `body` for each look and question from now on. `body` has to return at once.
  func observe(_ body: @escaping @Sendable (Event) -> Void) {
    state.withLock { $0.observers.append(body) }
  }

  /// Returns the right of a user in a space, or `nil` if the space is closed to it. Throws if that isn't known.
  func right(_ question: SpaceQuestion, in space: String) async throws(CalloutOutage) -> SpaceRight? {
    try await look(question, in: space)[space]
  }

  /// Returns the names of a user's spaces. Throws if they aren't known.
  func spaces(_ question: SpaceQuestion) async throws(CalloutOutage) -> Set<String> {
    Set(try await look(question, in: nil).keys)
  }

  /// Returns the rights that hold, from memory or from the back end.
  private func look(
    _ question: SpaceQuestion, in space: String?
  ) async throws(CalloutOutage) -> [String: SpaceRight] {
    switch standing(question, in: space) {
    case .holds(let known): return found(known, .known)
    case .kept(let known): return found(known, .kept)
    case .rests: throw unavailable(.paused)
    case .ask: break
    }
    switch await flight(question).value {
    case .success(let known): return found(known, .asked)
    case .failure(let outage):
      // The outage was noted, so that what is known may be kept.
      guard case .kept(let known) = standing(question, in: space) else { throw unavailable(outage) }
      return found(known, .kept)
    }
  }

  private func standing(_ question: SpaceQuestion, in space: String?) -> SpaceMemory.Standing {
    state.withLock { $0.memory.standing(question.key, in: space, at: now()) }
  }

  private func found(_ known: SpaceMemory.Known, _ look: Look) -> [String: SpaceRight] {
    report(.look(look))
    return known.rights
  }

  private func unavailable(_ outage: CalloutOutage) -> CalloutOutage {
    report(.look(.unavailable))
    return outage
  }

  private func report(_ event: Event) {
    for observer in state.withLock({ $0.observers }) { observer(event) }
  }

  /// Returns the question about a user that is under way, or begins one. It doesn't end with a caller who leaves.
  private func flight(_ question: SpaceQuestion) -> Task<Result<SpaceMemory.Known, CalloutOutage>, Never> {
    state.withLock { state in
      if let flight = state.flights[question.key] { return flight }
      let flight = Task { await self.ask(question) }
      state.flights[question.key] = flight
      return flight
    }
  }

  private func ask(_ question: SpaceQuestion) async -> Result<SpaceMemory.Known, CalloutOutage> {
    let (begin, asked) = (ContinuousClock.now, now())
    let result: Result<SpaceMemory.Known, CalloutOutage>
    do {
      let rights = try SpaceAnswer.rights(try await callout.answer(to: question.text))
      result = .success(SpaceMemory.Known(rights: rights, asked: asked))
    } catch let outage as CalloutOutage {
      result = .failure(outage)
    } catch {
      result = .failure(.unreachable)
    }
    state.withLock { state in
      state.flights[question.key] = nil
      switch result {
      case .success(let known): state.memory.take(known, of: question.key)
      case .failure: state.memory.rest(question.key, at: now())
      }
    }
    let outage: CalloutOutage? = if case .failure(let outage) = result { outage } else { nil }
    report(.asked(ContinuousClock.now - begin, outage))
    return result
  }
}
