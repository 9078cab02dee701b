public import BothySyncService

/// A rule that leaves the decision about writes to the team's own back end, by signed requests over HTTP.
///
/// The back end's address receives a POST with the writes as JSON, and answers 200 with a decision for each. Any other
/// answer decides nothing, like no answer. Requests are signed like those of webhooks.
public final class WriteCallout: WriteRule {
  /// The limits of the requests to the back end.
  public struct Limits: Sendable, Hashable {
    /// The longest time from a question to its answer, with the wait for a free place. The default is 2
    /// seconds.
    ///
    /// Writes wait for it, and stay undecided after it. Devices send undecided writes again.
    public var time: Duration = .seconds(2)
    /// The most writes in one request, by default 100. Further ones are sent in further requests, one after
    /// the other.
    public var operations = 100
    /// The approximate number of bytes of one request. A single write is never divided.
    public var requestSize = 1 << 20
    /// The most bytes of an answer, by default 4 MiB. A larger one decides nothing.
    public var answerSize = 4 << 20
    /// The number of requests at a time. As many as four times that number wait for a place.
    public var requests = 8

    /// Makes the default limits.
    public init() {}
  }

  private let limits: Limits
  private let callout: SignedCallout

  /// Makes the rule. Sends nothing.
  ///
  /// Throws `BothyError` for an address without TLS that isn't on this machine, and for a weak secret.
  ///
  /// - Parameters:
  ///   - secret: the text of a secret's file. Each line is a key of 24 bytes at least, or `whsec_` and a key in Base64.
  ///   - clock: the clock of the time limit.
  ///   - now: the server's clock, in milliseconds since 1970, for signatures.
  ///   - send: sends a request and returns the answer, whatever its status is. It ends soon after its task is
  ///     cancelled, and throws `OutboundResponse.TooLarge` beyond `answerSize`.
  public init(
    url: String, secret: [UInt8], limits: Limits = Limits(), clock: any Clock<Duration> = ContinuousClock(),
    now: @escaping @Sendable () -> Int64 = ServerConfiguration.systemClock,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) throws {
    self.limits = limits
    let requests = max(1, limits.requests)
    callout = try SignedCallout(
      .init(
        url: url, secret: secret, time: limits.time, answerSize: limits.answerSize, requests: requests,
        waiting: 4 * requests), clock: clock, now: now, send: send)
  }

  /// Signs later requests with another secret. Requests that are under way keep theirs.
  ///
  /// - Parameter secret: the bytes of the secret's file, as for `init`.
  /// - Throws: `BothyError` `.invalidValue` for an unsuitable one, and keeps the secret then.
  public func replace(secret: [UInt8]) throws { try callout.replace(secret: secret) }

  /// Sends the writes to the back end, in several requests if there are many. After a request without
  /// decisions, it leaves the other writes undecided.
  ///
  /// The decisions are in the order of the writes. For a second after a request without an answer, all writes
  /// stay undecided and nothing is sent. Throws nothing for a back end that can't be reached.
  public func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
    var decisions: [WriteDecision] = []
    decisions.reserveCapacity(proposal.writes.count)
    let parts = CalloutDocument.parts(
      proposal.writes, count: max(1, limits.operations), bytes: limits.requestSize)
    do {
      for part in parts {
        let answer = try await callout.answer(to: CalloutDocument.text(proposal, part))
        decisions += try CalloutAnswer.decisions(answer, on: part)
      }
    } catch let outage as CalloutOutage {
      let missing = proposal.writes.count - decisions.count
      decisions += repeatElement(.undecided(outage.description), count: missing)
    }
    return decisions
  }
}
