import BothyLegacy
import BothyStore
import BothySync
import Testing

/// The older SDK's names beside the present ones. A requirement is called where a deprecated name would be a warning.
private protocol OlderNames {
  var reads: [(ReadPolicy, ReadPolicy)] { get }
  var writes: [(WritePolicy, WritePolicy)] { get }
  var merges: [(MergePolicy, MergePolicy)] { get }
}

private struct StackMobNames: OlderNames {
  @available(*, deprecated)
  var reads: [(ReadPolicy, ReadPolicy)] {
    let cacheOnly: FetchPolicy = .cacheOnly
    return [
      (.networkOnly, .remote), (.networkElseCache, .remoteElseLocal), (cacheOnly, .local),
      (.cacheElseNetwork, .localElseRemote),
    ]
  }

  @available(*, deprecated)
  var writes: [(WritePolicy, WritePolicy)] {
    let cacheOnly: SavePolicy = .cacheOnly
    return [(.networkThenCache, .remoteThenLocal), (.networkOnly, .remote), (cacheOnly, .local)]
  }

  @available(*, deprecated)
  var merges: [(MergePolicy, MergePolicy)] {
    [(.serverModifiedWins, .remoteWins), (.clientWins, .localWins), (.lastModifiedWins, .latestWins)]
  }
}

@Suite("Names of the older SDK", .timeLimit(.minutes(5)))
struct OlderNamesTests {
  @Test("The older SDK's policies are the present ones under its names")
  func policies() {
    let names: any OlderNames = StackMobNames()
    #expect(names.reads.count == 4 && names.reads.allSatisfy { $0 == $1 })
    #expect(names.writes.count == 3 && names.writes.allSatisfy { $0 == $1 })
    #expect(names.merges.count == 3 && names.merges.allSatisfy { $0.name == $1.name })
  }
}
