internal import Synchronization

/// Counts events for each source.
final class Counters: Sendable {
  private let counters = Mutex<[SourceID: CacheCounters]>([:])

  func count(_ source: SourceID, _ change: (inout CacheCounters) -> Void) {
    counters.withLock { change(&$0[source, default: CacheCounters()]) }
  }

  var all: [SourceID: CacheCounters] { counters.withLock { $0 } }
}
