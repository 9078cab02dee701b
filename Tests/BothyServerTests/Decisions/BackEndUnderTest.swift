import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting

/// A team's back end whose answers a test scripts. It keeps the requests.
final class BackEndUnderTest: Sendable {
  typealias Answer = @Sendable (OutboundRequest) async throws -> OutboundResponse

  private let received = Locked<[OutboundRequest]>([])
  private let answer: Locked<Answer>

  init(_ answer: @escaping Answer = { try accepting($0) }) { self.answer = Locked(answer) }

  var requests: [OutboundRequest] { received.value }

  func set(_ answer: @escaping Answer) { self.answer.value = answer }

  func callout(
    _ limits: WriteCallout.Limits = .init(), clock: any Clock<Duration> = VirtualClock(),
    now: @escaping @Sendable () -> Int64 = { 1_795_000_000_500 }
  ) throws -> WriteCallout {
    try WriteCallout(
      url: "https://team.example/decide", secret: Array("0123456789abcdef0123456789abcdef".utf8),
      limits: limits, clock: clock, now: now, send: send)
  }

  @Sendable func send(_ request: OutboundRequest) async throws -> OutboundResponse {
    received.change { $0.append(request) }
    return try await answer.value(request)
  }

  /// Returns the answer that accepts all writes of a request.
  @Sendable static func accepting(_ request: OutboundRequest) throws -> OutboundResponse {
    let decisions = try ids(of: request).map { #"{"id":"\#($0)","decision":"accept"}"# }
    return text(#"{"decisions":[\#(decisions.joined(separator: ","))]}"#)
  }

  static func ids(of request: OutboundRequest) throws -> [String] {
    let operations = try JSONValue(parsing: request.body)["operations"]?.arrayValue ?? []
    return operations.compactMap { $0["id"]?.stringValue }
  }

  static func text(_ body: String, status: Int = 200) -> OutboundResponse {
    OutboundResponse(status: status, body: Array(body.utf8))
  }
}

/// A rule for writes that a test scripts. It counts the writes that it was asked about.
final class RuleUnderTest: WriteRule {
  private let decide: Locked<@Sendable (ProposedWrite) -> WriteDecision>
  let asked = Locked<[ProposedWrite]>([])

  init(_ decide: @escaping @Sendable (ProposedWrite) -> WriteDecision) { self.decide = Locked(decide) }

  func set(_ decide: @escaping @Sendable (ProposedWrite) -> WriteDecision) { self.decide.value = decide }

  func decisions(on proposal: WriteProposal) async throws -> [WriteDecision] {
    asked.change { $0 += proposal.writes }
    return proposal.writes.map(decide.value)
  }
}
