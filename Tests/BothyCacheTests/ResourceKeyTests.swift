import BothyCache
import Testing

@Suite("Keys of resources", .timeLimit(.minutes(5)))
struct ResourceKeyTests {
  @Test("A tile's key has its zoom, column and row, even at the limits")
  func tiles() {
    let last = (1 << 29) - 1
    #expect(ResourceKey("osm", zoom: 29, x: last, y: 0).path == "29/\(last)/0")
    #expect(ResourceKey("osm", zoom: 0, x: 0, y: 0).path == "0/0/0")
    #expect(ResourceKey("osm", zoom: 16, x: 1, y: 2) != ResourceKey("osm", zoom: 16, x: 2, y: 1))
    #expect(ResourceKey("osm", zoom: 16, x: 1, y: 2) != ResourceKey("other", zoom: 16, x: 1, y: 2))
  }
}
