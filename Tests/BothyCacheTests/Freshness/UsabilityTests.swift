import BothyCache
import BothyCore
import HTTPTypes
import Testing

@Suite("The permitted use of an entry", .timeLimit(.minutes(5)))
struct UsabilityTests {
  @Test("The windows for use during a refresh and after an error end on time")
  func windows() {
    let entry = EntryMetadata.of(
      200, ["Cache-Control": "max-age=10, stale-while-revalidate=20, stale-if-error=60"])
    var rule = FreshnessRule.http
    rule.staleUse = .zero
    let expected: [(Int64, EntryState.State)] = [
      (0, .fresh), (9999, .fresh), (10_000, .staleWhileRevalidate), (29_999, .staleWhileRevalidate),
      (30_000, .staleIfError), (69_999, .staleIfError), (70_000, .stale),
    ]
    for (milliseconds, state) in expected {
      #expect(entry.state(under: rule, at: At.start + milliseconds) == state, "\(milliseconds)")
    }
  }

  @Test("A source may extend, limit or forbid the use of stale entries after errors")
  func staleUse() {
    let entry = EntryMetadata.of(200, ["Cache-Control": "max-age=10"])
    var rule = FreshnessRule.http
    #expect(entry.state(under: rule, at: At.days(9999)) == .staleIfError)
    rule.staleUse = .days(2)
    #expect(entry.state(under: rule, at: At.days(2)) == .staleIfError)
    #expect(entry.state(under: rule, at: At.days(2) + 10_000) == .stale)
    rule.staleUse = .zero
    #expect(entry.state(under: rule, at: At.seconds(10)) == .stale)
    rule.staleWhileRevalidating = .hours(1)
    #expect(entry.state(under: rule, at: At.seconds(10)) == .staleWhileRevalidate)
  }

  @Test("An entry that needs confirmation is never used without it, whatever its windows")
  func mustRevalidate() {
    let entry = EntryMetadata.of(
      200, ["Cache-Control": "max-age=10, must-revalidate, stale-while-revalidate=99, stale-if-error=99"])
    #expect(entry.state(at: At.seconds(9)) == .fresh)
    #expect(entry.state(at: At.seconds(10)) == .mustRevalidate)
    let never = EntryMetadata.of(200, ["Cache-Control": "max-age=10, no-cache"])
    #expect(never.state(at: At.start) == .mustRevalidate)
    #expect(!EntryState(of: never, under: .http, at: At.start).isUsableOnError)
  }

  @Test("Pinned entries are usable without a network as stale, whatever their fields are")
  func pinned() {
    for control in ["max-age=10, must-revalidate", "no-cache", "max-age=0"] {
      let entry = EntryMetadata.of(200, ["Cache-Control": control])
      var rule = FreshnessRule.http
      rule.staleUse = .zero
      let use = EntryState(of: entry, under: rule, at: At.days(400), isPinned: true)
      #expect(use.state == .staleIfError && use.isUsableOnError && !use.isUsableAtOnce)
    }
  }

  /// Promises: T-29
  @Test("Without a network any stored tile is served, however old, and marked as stale")
  func offline() {
    let tile = EntryMetadata.of(200, ["ETag": "\"1\""])
    for rule in [FreshnessRule.http, .fixed(.days(7)), .http(otherwise: .days(7))] {
      let use = EntryState(of: tile, under: rule, at: At.days(5000))
      #expect(use.isUsableOnError && !use.isFresh)
    }
  }

  /// Promises: E-6, B-19d, K-16
  @Test("A clock set back makes entries stale, and they are still used offline")
  func clockBack() throws {
    for rule in [FreshnessRule.http, .fixed(.days(7))] {
      let entry = EntryMetadata.of(200, ["Cache-Control": "max-age=604800", "ETag": "\"1\""])
      #expect(entry.state(under: rule, at: At.start - 5 * 60_000) == .fresh)
      let use = EntryState(of: entry, under: rule, at: At.start - 5 * 60_000 - 1)
      #expect(use.state == .staleIfError && use.freshFor <= 0 && use.age == 0)
      #expect(entry.state(under: rule, at: At.days(-30)) == .staleIfError)
      let confirmed = try #require(entry.confirmed(rule: rule, at: At.days(-30)))
      #expect(confirmed.state(under: rule, at: At.days(-30)) == .fresh)
      #expect(confirmed.state(under: rule, at: At.days(-23)) == .staleIfError)
    }
  }

  /// Promises: E-6
  @Test("A clock set back disables windows and own ends of entries")
  func clockBackWindows() {
    var entry = EntryMetadata.of(200, ["Cache-Control": "max-age=10, stale-while-revalidate=999999"])
    #expect(entry.state(at: At.days(-1)) == .staleIfError)
    entry.expiresAt = At.days(1)
    #expect(entry.state(at: At.days(-1)) == .staleIfError)
    #expect(
      EntryMetadata.of(200, ["Cache-Control": "max-age=9, must-revalidate"]).state(at: At.days(-1))
        == .mustRevalidate)
  }

  /// Promises: E-7
  @Test("A clock far ahead makes entries stale, and one confirmation makes them fresh")
  func clockAhead() throws {
    let week = FreshnessRule.fixed(.days(7))
    let tile = EntryMetadata.of(200, ["ETag": "W/\"7\""], rule: week)
    let later = At.days(36_500)
    #expect(tile.state(under: week, at: later) == .staleIfError)
    #expect(Validation.fields(for: tile)[.ifNoneMatch] == "W/\"7\"")
    let confirmed = try #require(tile.confirmed(rule: week, at: later))
    #expect(confirmed.state(under: week, at: later) == .fresh)
    #expect(confirmed.receivedAt == At.start)
  }

  @Test("A request's directives narrow or widen the permitted use")
  func directives() {
    let entry = EntryMetadata.of(200, ["Cache-Control": "max-age=100", "Age": "40"])
    func state(_ control: String, at seconds: Int64) -> EntryState.State {
      let now = At.seconds(seconds)
      return RequestDirectives(.of(["Cache-Control": control]))
        .restrict(EntryState(of: entry, under: .http, at: now), age: entry.age(at: now)).state
    }
    #expect(state("", at: 10) == .fresh)
    #expect(state("no-cache", at: 10) == .mustRevalidate)
    #expect(state("max-age=50", at: 10) == .fresh)
    #expect(state("max-age=49", at: 10) == .mustRevalidate)
    #expect(state("min-fresh=50", at: 10) == .fresh)
    #expect(state("min-fresh=51", at: 10) == .mustRevalidate)
    #expect(state("max-stale=10", at: 70) == .staleWhileRevalidate)
    #expect(state("max-stale=10", at: 71) == .staleIfError)
    #expect(state("max-stale", at: 9999) == .staleWhileRevalidate)
    #expect(RequestDirectives(.of(["Cache-Control": "only-if-cached"])).onlyIfCached)
  }

  @Test("A served response has its present age in seconds, up to the largest")
  func served() {
    let entry = EntryMetadata.of(200, ["Age": "30", "Date": HTTPDate.text(At.start), "X": "1"])
    #expect(ServedAge.seconds(of: entry, at: At.seconds(12) + 999) == 42)
    #expect(ServedAge.seconds(of: entry, at: .max) == CacheControl.longest)
  }
}
