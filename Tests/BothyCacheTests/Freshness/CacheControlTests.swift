import BothyCache
import HTTPTypes
import Testing

@Suite("Cache-Control", .timeLimit(.minutes(5)))
struct CacheControlTests {
  private func read(_ lines: String...) -> CacheControl {
    var fields = HTTPFields()
    for line in lines { fields.append(HTTPField(name: .cacheControl, value: line)) }
    return CacheControl(fields)
  }

  @Test("Names are read in any case, order and line, among unknown ones")
  func names() {
    let control = read(
      "MaX-aGe=60, x-more=\"a, b\", , No-Cache", "IMMUTABLE,must-revalidate", "stale-if-error=9")
    #expect(control.maxAge == 60)
    #expect(control.noCache && control.isImmutable && control.mustRevalidate)
    #expect(control.staleIfError == 9)
    #expect(!control.noStore)
  }

  @Test("A quoted text isn't read as a directive")
  func quotes() {
    #expect(read("extension=\"max-age=3600\", max-age=1").maxAge == 1)
    #expect(read("max-age=1, extension=\"no-store, max-age=3600").maxAge == 1)
    #expect(!read("extension=\"a\\\", no-store\"").noStore)
    #expect(read("extension=\"a\", no-store").noStore)
  }

  @Test("A number may be quoted or zero-padded, and an invalid one is stale")
  func numbers() {
    #expect(read("max-age=\"3600\"").maxAge == 3600)
    #expect(read("max-age=003600").maxAge == 3600)
    for garbled in ["'3600'", "3600.0", "-5", "a1", "1a", "", "\"", "0x10", "١"] {
      #expect(read("max-age=\(garbled)").maxAge == 0, "\(garbled)")
    }
    #expect(read("max-age").maxAge == 0)
    #expect(read("max-age =3600").maxAge == 0)
    #expect(read("max-age= 3600").maxAge == 0)
  }

  @Test("Numbers beyond the range become the longest time")
  func overflow() {
    #expect(read("max-age=2147483647").maxAge == 2_147_483_647)
    #expect(read("max-age=2147483649").maxAge == CacheControl.longest)
    #expect(read("max-age=99999999999999999999999999999999").maxAge == CacheControl.longest)
  }

  @Test("Of several values the most cautious one counts, in any order")
  func repeated() {
    #expect(read("max-age=1800, max-age=1").maxAge == 1)
    #expect(read("max-age=1", "max-age=1800").maxAge == 1)
    #expect(read("max-age=100, max-age=x").maxAge == 0)
    #expect(read("min-fresh=5, min-fresh=50").minFresh == 50)
  }

  @Test("Directives for shared caches count in those alone", arguments: [true, false])
  func shared(isShared: Bool) {
    let control = read("s-maxage=7, s-maxage=1, proxy-revalidate")
    #expect(control.sharedMaxAge == 1 && control.proxyRevalidate)
    var rule = FreshnessRule.http
    rule.isShared = isShared
    let fields: HTTPFields = [.cacheControl: "s-maxage=1, proxy-revalidate"]
    let found = FreshnessMetadata(status: 200, fields: fields, requestedAt: 0, receivedAt: 0, rule: rule)
    #expect(found.lifetime == (isShared ? 1000 : 0) && found.flags == (isShared ? .mustRevalidate : []))
  }

  @Test("A max-stale without a number accepts any staleness")
  func maxStale() {
    #expect(read("max-stale").maxStale == .max)
    #expect(read("max-stale=5").maxStale == 5)
    #expect(read("no-cache").maxStale == nil)
  }
}
