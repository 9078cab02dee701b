import BothyCache
import BothyTesting
import HTTPTypes
import Testing

@Suite("Copies that may not be used stale", .timeLimit(.minutes(5)))
struct StaleUseTests {
  /// What forbids to use a stale copy: a field of the response, or the limit of the rule.
  enum Ban: String, CaseIterable, Sendable {
    case mustRevalidate = "max-age=10, must-revalidate"
    case noCache = "no-cache"
    case staleUse = "max-age=10"

    var rule: FreshnessRule {
      var rule = FreshnessRule.http
      if self == .staleUse { rule.staleUse = .days(1) }
      return rule
    }
  }

  /// A read, and true if it is an exception to the ban.
  struct Case: Sendable {
    var isTile = true
    var isPinned = false
    var priority = ResourceCache.Priority.normal
    var isException: Bool
  }

  private static let cases = [
    Case(isPinned: true, isException: true),
    Case(isTile: false, isPinned: true, isException: true),
    Case(priority: .visible, isException: true),
    Case(priority: .urgent, isException: true),
    Case(isException: false),
    Case(isTile: false, priority: .visible, isException: false),
  ]

  @Test(
    "Pinned copies and tiles on the screen alone are used whatever forbids it",
    arguments: Ban.allCases, cases)
  func table(_ ban: Ban, _ read: Case) async throws {
    let answering = Answering(200)
    let rig = try CacheRig(freshness: ban.rule) { _ in
      .init(answering.value, fields: [.cacheControl: ban.rawValue], "copy")
    }
    let files = try ResourceSource(
      "files", template: "https://f.example", freshness: ban.rule, userAgent: "Tests/1 (tests.example)",
      limits: SourceLimits(attempts: 1), content: ContentExpectation())
    try rig.cache.register(files)
    let key = read.isTile ? try rig.tile() : try files.key(path: "menu")
    _ = try await rig.cache.value(key)
    if read.isPinned { try await rig.cache.pin([key], by: "region") }
    rig.pass(.days(400))
    rig.cache.suspendNetwork()
    for isOffline in [true, false] {
      if !isOffline {
        rig.cache.resumeNetwork()
        answering.value = 503
      }
      if read.isException {
        let answer = try await rig.cache.value(key, priority: read.priority)
        #expect(text(answer) == "copy")
        #expect(answer.freshness == .stale(isOffline ? .noNetwork : .refreshing))
      } else {
        let error = await #expect(throws: BothyError.self) {
          try await rig.cache.value(key, priority: read.priority)
        }
        #expect(error?.status == (isOffline ? nil : 503))
      }
    }
    try await rig.cache.close()
  }

  @Test("A read on the screen with no-cache of its own is no exception")
  func ownDirective() async throws {
    let answering = Answering(200)
    let rig = try CacheRig(freshness: .http) { _ in .init(answering.value, "copy") }
    let key = try rig.tile()
    _ = try await rig.cache.value(key)
    answering.value = 503
    let options = ResourceCache.Options(priority: .visible, fields: [.cacheControl: "no-cache"])
    let error = await #expect(throws: BothyError.self) { try await rig.cache.value(key, options) }
    #expect(error?.status == 503)
    try await rig.cache.close()
  }
}
