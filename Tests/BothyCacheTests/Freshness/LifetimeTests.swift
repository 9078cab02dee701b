import BothyCache
import BothyCore
import BothyTesting
import HTTPTypes
import Testing

@Suite("Lifetimes and ages by an answer's fields", .timeLimit(.minutes(5)))
struct LifetimeTests {
  private func terms(
    _ fields: KeyValuePairs<String, String>, status: Int = 200, delay: Int64 = 0, rule: FreshnessRule = .http
  ) -> FreshnessMetadata {
    FreshnessMetadata(
      status: status, fields: .of(fields), requestedAt: At.start - delay, receivedAt: At.start, rule: rule)
  }

  private func date(_ seconds: Int64) -> String { HTTPDate.text(At.seconds(seconds)) }

  @Test("The lifetime is from max-age, else from Expires, else an estimate")
  func order() {
    let all = terms(["Cache-Control": "max-age=60", "Expires": date(100), "Last-Modified": date(-10_000)])
    #expect(all.lifetime == 60_000 && all.origin == .maxAge)
    let two = terms(["Expires": date(100), "Date": date(0), "Last-Modified": date(-10_000)])
    #expect(two.lifetime == 100_000 && two.origin == .expires)
    let one = terms(["Date": date(0), "Last-Modified": date(-10_000)])
    #expect(one.lifetime == 1_000_000 && one.origin == .heuristic)
    #expect(terms([:]).origin == .none)
  }

  @Test("Expires counts from Date or the receipt, and an invalid date is past")
  func expires() {
    #expect(terms(["Expires": date(300), "Date": date(400)]).lifetime == 0)
    #expect(terms(["Expires": date(1300), "Date": date(1000)]).lifetime == 300_000)
    #expect(terms(["Expires": date(300), "Date": "yesterday"]).lifetime == 300_000)
    let zero = terms(["Expires": "0", "Last-Modified": date(-100_000)])
    #expect(zero.lifetime == 0 && zero.origin == .expires)
    #expect(terms(["Expires": date(300), "expires": date(300)]).lifetime == 0)
  }

  @Test("An estimate is a tenth of the time since the change, within limits")
  func guess() {
    let old: KeyValuePairs = ["Date": date(0), "Last-Modified": date(-86_400 * 365)]
    #expect(terms(old).lifetime == 7 * 86_400_000)
    var rule = FreshnessRule.http
    rule.heuristicLimit = .hours(1)
    #expect(terms(old, rule: rule).lifetime == 3_600_000)
    rule.heuristicLimit = .zero
    #expect(terms(old, rule: rule).origin == .none)
    for status in [200, 203, 204, 404, 405, 410, 414, 501] {
      #expect(terms(old, status: status).lifetime > 0)
    }
    for status in [201, 202, 403, 502, 503, 504, 599] { #expect(terms(old, status: status).lifetime == 0) }
    let open: KeyValuePairs = ["Cache-Control": "public", "Date": date(0), "Last-Modified": date(-100)]
    #expect(terms(open, status: 599).lifetime == 10_000)
    #expect(terms(["Date": date(0), "Last-Modified": date(50)]).lifetime == 0)
  }

  @Test("The age is the larger of two estimates, by clocks and by caches")
  func age() {
    #expect(terms(["Date": date(-30)]).initialAge == 30_000)
    #expect(terms(["Date": date(-30), "Age": "100"]).initialAge == 100_000)
    #expect(terms(["Date": date(-300), "Age": "100"]).initialAge == 300_000)
    #expect(terms(["Age": "100"], delay: 5000).initialAge == 105_000)
    #expect(terms(["Date": date(500)]).initialAge == 0)
  }

  @Test("The first of several ages counts, and an invalid one is ignored")
  func ageParsing() {
    #expect(terms(["Age": "7200, 0"]).initialAge == 7_200_000)
    #expect(terms(["Age": "0", "age": "7200"]).initialAge == 0)
    for garbled in ["abc", "-7200", "7200.0", "7200;a=b", "\"7200\""] {
      #expect(terms(["Age": garbled]).initialAge == 0, "\(garbled)")
    }
    #expect(terms(["Age": "99999999999999999999"]).initialAge == CacheControl.longest * 1000)
  }

  @Test("Vary: * equals no-cache, alone or with other fields")
  func varyStar() {
    for value in ["*", "*, *", ", *", "*, Foo", "Foo, *"] {
      #expect(terms(["Cache-Control": "max-age=60", "Vary": value]).flags.contains(.noCache), "\(value)")
    }
  }

  @Test("A larger max-age never makes an entry less fresh", arguments: [3, 14, 159])
  func monotonic(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<500 {
      let shorter = Int64.random(in: 0...100_000, using: &random)
      let longer = shorter + Int64.random(in: 0...100_000, using: &random)
      let now = At.seconds(Int64.random(in: -200...300_000, using: &random))
      let age = Int64.random(in: 0...1000, using: &random)
      let uses = [shorter, longer].map { seconds in
        EntryState(
          of: .of(200, ["Cache-Control": "max-age=\(seconds), stale-while-revalidate=50", "Age": "\(age)"]),
          under: .http, at: now)
      }
      #expect(uses[1].freshFor >= uses[0].freshFor, "seed \(seed)")
      #expect(uses[1].state.rawValue <= uses[0].state.rawValue, "seed \(seed)")
      #expect(uses[0].age >= 0, "seed \(seed)")
    }
  }

  @Test("A stale entry never becomes fresh by waiting", arguments: [26, 535])
  func oneWay(seed: UInt64) {
    var random = SeededGenerator(seed: seed)
    for _ in 0..<300 {
      let entry = EntryMetadata.of(
        200,
        [
          "Cache-Control":
            "max-age=\(Int.random(in: 0...500, using: &random)), stale-while-revalidate=\(Int.random(in: 0...99, using: &random)), stale-if-error=99"
        ])
      var rule = FreshnessRule.http
      rule.staleUse = .zero
      let states = (0..<100).map { entry.state(under: rule, at: At.seconds(Int64($0) * 10)).rawValue }
      #expect(states == states.sorted(), "seed \(seed)")
    }
  }
}
