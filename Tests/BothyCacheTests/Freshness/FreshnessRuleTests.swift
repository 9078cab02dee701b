import BothyCache
import BothyStore
import Foundation
import HTTPTypes
import Testing

@Suite("Rules of a source", .timeLimit(.minutes(5)))
struct FreshnessRuleTests {
  private func moment(_ milliseconds: Int64) -> Date { Timestamp(milliseconds: milliseconds).date }

  /// Promises: R-20, E-33, K-16
  @Test("An entry is fresh up to its lifetime, and at exactly the lifetime stale")
  func fixed() {
    let entry = EntryMetadata.of(200, ["Cache-Control": "no-cache, max-age=0"])
    let week = FreshnessRule.fixed(.days(7))
    #expect(entry.state(under: week, at: At.start) == .fresh)
    #expect(entry.state(under: week, at: At.days(7) - 1) == .fresh)
    #expect(entry.state(under: week, at: At.days(7)) == .staleIfError)
    #expect(entry.state(under: week, at: At.days(7) + 1000) == .staleIfError)
    #expect(entry.state(under: .fixed(.zero), at: At.start) == .staleIfError)
    // A changed lifetime applies to stored entries.
    #expect(entry.state(under: .fixed(.days(8)), at: At.days(7)) == .fresh)
  }

  /// Promises: R-21
  @Test("Nothing from before the cut-off is fresh, and moving it takes effect at once")
  func cutOff() {
    let cutOff = InvalidationDate(moment(At.hours(-1)))
    let rule = FreshnessRule.notBefore(cutOff)
    let entry = EntryMetadata.of()
    #expect(entry.state(under: rule, at: At.days(4000)) == .fresh)
    cutOff.move(to: moment(At.start))
    #expect(entry.state(under: rule, at: At.days(1)) == .fresh)
    cutOff.move(to: moment(At.start + 1))
    #expect(entry.state(under: rule, at: At.days(1)) == .staleIfError)
    cutOff.move(to: moment(At.hours(-2)))
    #expect(entry.state(under: rule, at: At.days(1)) == .fresh)
    // A cut-off can be combined with any other rule.
    cutOff.move(to: moment(At.hours(1)))
    var http = FreshnessRule.http
    http.cutOff = cutOff
    #expect(
      EntryMetadata.of(200, ["Cache-Control": "max-age=99999"]).state(under: http, at: At.hours(2)) != .fresh)
  }

  /// Promises: R-21
  @Test("A cut-off by creation uses the server's time of creation")
  func cutOffByCreation() {
    let cutOff = InvalidationDate(moment(At.hours(-5)))
    let rule = FreshnessRule.notBefore(cutOff, stamp: .lastModified)
    let old = EntryMetadata.of(200, ["Last-Modified": HTTPDate.text(At.hours(-6))], rule: rule)
    let new = EntryMetadata.of(200, ["Last-Modified": HTTPDate.text(At.hours(-4))], rule: rule)
    #expect(old.state(under: rule, at: At.start) == .staleIfError)
    #expect(new.state(under: rule, at: At.start) == .fresh)
  }

  /// Promises: R-22
  @Test("An entry's own end overrides the rule of its source, in both directions")
  func ownEnd() {
    var entry = EntryMetadata.of(200, ["Cache-Control": "max-age=60, must-revalidate"])
    entry.expiresAt = At.days(2)
    for rule in [FreshnessRule.http, .fixed(.hours(1)), .manual] {
      #expect(entry.state(under: rule, at: At.days(2) - 1) == .fresh)
      #expect(entry.state(under: rule, at: At.days(2)) == .staleIfError)
    }
  }

  /// Promises: R-23
  @Test("A daily map from midnight, fetched at 22:00, is stale at the next midnight")
  func weather() {
    let daily = FreshnessRule.fixed(.days(1), stamp: .lastModified)
    let map = EntryMetadata.of(200, ["Last-Modified": HTTPDate.text(At.start)], rule: daily, at: At.hours(22))
    #expect(map.state(under: daily, at: At.hours(24) - 1) == .fresh)
    #expect(map.state(under: daily, at: At.hours(24)) == .staleIfError)
    let byReceipt = FreshnessRule.fixed(.days(1))
    #expect(map.state(under: byReceipt, at: At.hours(46) - 1) == .fresh)
    #expect(map.state(under: byReceipt, at: At.hours(46)) == .staleIfError)
  }

  /// Promises: R-23
  @Test("The creation is from a field or a closure, else it is the receipt")
  func stamps() throws {
    let name = try #require(HTTPField.Name("X-Made-At"))
    let made = moment(At.hours(-10))
    let rules: [FreshnessRule] = [
      .fixed(.hours(12), stamp: .field(name)), .fixed(.hours(12), stamp: .computed { _ in made }),
    ]
    for rule in rules {
      let entry = EntryMetadata.of(200, ["X-Made-At": HTTPDate.text(At.hours(-10))], rule: rule)
      #expect(entry.state(under: rule, at: At.hours(2) - 1) == .fresh)
      #expect(entry.state(under: rule, at: At.hours(2)) == .staleIfError)
    }
    let daily = FreshnessRule.fixed(.days(1), stamp: .lastModified)
    let ahead = HTTPDate.text(At.days(30))
    for entry in [EntryMetadata.of(200, [:], rule: daily), .of(200, ["Last-Modified": ahead], rule: daily)] {
      #expect(entry.state(under: daily, at: At.days(1) - 1) == .fresh)
      #expect(entry.state(under: daily, at: At.days(1)) == .staleIfError)
    }
  }

  @Test("Bounds limit the server's lifetimes, and responses without one get a default")
  func bounds() {
    let rule = FreshnessRule.http(min: .hours(1), max: .days(1), otherwise: .hours(6))
    func end(_ control: String?) -> Int64 {
      let entry = EntryMetadata.of(200, control.map { ["Cache-Control": $0] } ?? [:])
      return EntryState(of: entry, under: rule, at: At.start).freshFor
    }
    #expect(end("max-age=60") == 3_600_000)
    #expect(end("max-age=7200") == 7_200_000)
    #expect(end("max-age=99999999") == 86_400_000)
    #expect(end("no-cache") == 3_600_000)
    #expect(end(nil) == 6 * 3_600_000)
  }

  @Test("A reload requests a manual entry, but not an immutable one")
  func immutable() {
    let entry = EntryMetadata.of(200, ["Cache-Control": "max-age=60, immutable"])
    #expect(EntryState(of: entry, under: .immutable, at: At.days(9999)).isImmutable)
    #expect(EntryState(of: entry, under: .http, at: At.seconds(59)).isImmutable)
    #expect(!EntryState(of: entry, under: .http, at: At.seconds(60)).isImmutable)
    let manual = EntryState(of: entry, under: .manual, at: At.days(9999))
    #expect(manual.state == .fresh && !manual.isImmutable && manual.freshFor == .max)
  }

  @Test("Negative entries have a lifetime of their own")
  func negative() {
    let rule = FreshnessRule.fixed(.days(7), negative: .hours(6))
    for status in [204, 404, 410] {
      let entry = EntryMetadata.of(status)
      #expect(entry.state(under: rule, at: At.hours(6) - 1) == .fresh)
      #expect(entry.state(under: rule, at: At.hours(6)) == .staleIfError)
    }
    let said = EntryMetadata.of(404, ["Cache-Control": "max-age=60"])
    #expect(said.state(at: At.seconds(59)) == .fresh)
    #expect(EntryMetadata.of(404).state(at: At.start) == .staleIfError)
  }

  /// Promises: K-14
  @Test("An expiration interval is a fixed lifetime, and a negative one is rejected")
  func interval() throws {
    let entry = EntryMetadata.of(200, ["Cache-Control": "max-age=60"])
    let hour = try #require(FreshnessRule(expirationInterval: .hours(1)))
    #expect(entry.state(under: hour, at: At.hours(1) - 1) == .fresh)
    #expect(entry.state(under: hour, at: At.hours(1)) == .staleIfError)
    let server = try #require(FreshnessRule(expirationInterval: nil))
    #expect(entry.state(under: server, at: At.seconds(60)) == .staleIfError)
    #expect(FreshnessRule(expirationInterval: .milliseconds(-1)) == nil)
  }

  @Test("Extreme durations neither overflow nor wrap")
  func extremes() {
    let entry = EntryMetadata.of()
    let endless = FreshnessRule.fixed(.seconds(Int64.max))
    #expect(entry.state(under: endless, at: .max) == .fresh)
    #expect(entry.state(under: .fixed(.days(1)), at: .max) == .staleIfError)
    #expect(entry.state(under: .fixed(.days(1)), at: .min) == .staleIfError)
    #expect(entry.state(under: .fixed(.seconds(-5)), at: At.start) == .staleIfError)
  }
}
