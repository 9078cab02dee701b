import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting

/// A server that leaves the spaces of users to a back end, which a test scripts.
///
/// The token `service` of its tokens file opens every space.
struct SpaceWorld {
  let issuer = IssuerUnderTest()
  /// The clock of the server.
  let time = ClockUnderTest()
  let log = LogUnderTest()
  let backEnd: BackEndUnderTest
  let callout: SpaceCallout
  var server: ServerUnderTest

  /// A secret's file for signatures.
  static let secret = "0123456789abcdef0123456789abcdef"

  /// - Parameters:
  ///   - clock: the clock of the time limit.
  ///   - answer: by default every user may write in `hut`.
  init(
    claims: [String] = [], limits: SpaceCallout.Limits = .init(), clock: VirtualClock = VirtualClock(),
    storage: (any ServerStorage)? = nil,
    answer: @escaping BackEndUnderTest.Answer = { _ in opening(["hut": "write"]) }
  ) async throws {
    backEnd = BackEndUnderTest(answer)
    let time = time
    callout = try SpaceCallout(
      url: "https://team.example/spaces", secret: Array(Self.secret.utf8), claims: claims, limits: limits,
      clock: clock, now: { time.now }, send: backEnd.send)
    server = try ServerUnderTest(limits: .init(notificationInterval: .zero), storage: storage)
    let tokens = #"[{"token":"service","principal":"service","spaces":["*"]}]"#
    server.configuration.access = try await issuer.access(
      tokens: TokenTable(json: Array(tokens.utf8)), spaces: callout)
    server.configuration.now = { time.now }
    server.configuration.logger = log.logger()
  }

  /// Returns a token without an end that a test could reach. Its claim names a space that the back end may not.
  func token(_ name: String = "ann", groups: [String]? = nil) async throws -> String {
    try await issuer.hs256(.init(sub: name, exp: 1e9, groups: groups, spaces: ["claimed"]))
  }

  /// The names of the users that the back end was asked about.
  var asked: [String] {
    backEnd.requests.compactMap { try? JSONValue(parsing: $0.body)["principal"]?.stringValue }
  }

  /// Returns an answer that opens spaces.
  static func opening(_ spaces: [String: String]) -> OutboundResponse {
    let entries = spaces.sorted { $0.key < $1.key }.map { #"{"space":"\#($0.key)","rights":"\#($0.value)"}"# }
    return BackEndUnderTest.text(#"{"spaces":[\#(entries.joined(separator: ","))]}"#)
  }

  /// Lets the back end open these spaces from now on.
  func open(_ spaces: [String: String]) { backEnd.set { _ in Self.opening(spaces) } }

  /// Lets the back end fail from now on, at once.
  func fail() { backEnd.set { _ in BackEndUnderTest.text("", status: 500) } }
}
