import BothyCache
import BothyLegacy
import BothyTestSupport
import Foundation
import Testing

@Suite("The configuration of route-me", .timeLimit(.minutes(5)))
struct LegacyConfigurationTests {
  private func read(_ caches: [[String: any Sendable]]?) -> LegacyCacheConfiguration {
    LegacyCacheConfiguration(propertyList: caches.map { ["caches": $0] } ?? [:])
  }

  /// Promises: R-19
  @Test("Without a configuration, route-me's memory and database caches have their default sizes")
  func none() {
    let read = read(nil)
    #expect(read.memory?.count == 32)
    #expect(
      read.disk?.count == 1000 && read.disk?.order == .firstIn && read.disk?.slack == .minimalPurge(100))
    #expect(read.problems.isEmpty)
  }

  /// Promises: R-19
  @Test("Memory capacities below one count as one", arguments: [(-3, 1), (0, 1), (1, 1), (77, 77)])
  func memory(given: Int, count: Int) {
    let read = read([["type": "memory-cache", "capacity": given]])
    #expect(read.memory?.count == count && read.disk == nil)
    #expect(read.settings.memory.count == count)
  }

  /// Promises: R-19
  @Test(
    "A database capacity of 0 is unlimited, and a negative one is ignored",
    arguments: [(0, nil), (-1, 1000), (50, 50)])
  func database(given: Int, count: Int?) {
    let read = read([["type": "db-cache", "capacity": given, "strategy": "lru", "useCachesDirectory": true]])
    #expect(read.disk?.count == count && read.disk?.order == .leastRecentlyUsed && read.memory == nil)
    #expect(read.problems.isEmpty == (given >= 0))
    #expect(read.wantsCachesDirectory)
    #expect(read.settings.memory.bytes == 0)
  }

  /// Promises: R-19
  @Test(
    "The purge is from one to the capacity, by default a tenth of it",
    arguments: [(1, 1), (50, 50), (0, 5), (51, 5), (-2, 5)])
  func purge(given: Int, purge: Int) {
    let read = read([["type": "db-cache", "capacity": 50, "minimalPurge": given]])
    #expect(read.disk?.slack == .minimalPurge(purge))
    #expect(read.problems.isEmpty == (given == purge))
    #expect(self.read([["type": "db-cache", "capacity": 5]]).disk?.slack == .minimalPurge(1))
  }

  /// Promises: R-19
  @Test("Unknown types and words are ignored and reported")
  func unknown() {
    let read = read([
      ["type": "punch-cards"], ["capacity": 3], ["type": "DB-Cache", "strategy": "random", "capacity": "12"],
    ])
    #expect(read.disk?.count == 12 && read.disk?.order == .firstIn && read.memory == nil)
    #expect(read.problems.map(\.place) == ["caches[0]", "caches[1]", "caches[2]"])
    #expect(LegacyCacheConfiguration(propertyList: ["caches": "none"]).memory?.count == 32)
  }

  @Test("A file is read, and a file that isn't a property list throws")
  func file() throws {
    let folder = try TemporaryFolder()
    let file = folder.url("routeme.plist")
    let list = ["caches": [["type": "memory-cache", "capacity": 7]]]
    try PropertyListSerialization.data(fromPropertyList: list, format: .xml, options: 0).write(to: file)
    #expect(try LegacyCacheConfiguration(contentsOf: file).memory?.count == 7)
    try Data("[]".utf8).write(to: file)
    #expect(throws: (any Error).self) { try LegacyCacheConfiguration(contentsOf: file) }
  }
}
