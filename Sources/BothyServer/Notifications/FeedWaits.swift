import Synchronization

/// The number of back ends that wait for changes, which is limited.
final class FeedWaits: Sendable {
  /// The longest wait of one request, in seconds.
  static let longest = 30
  private let limit: Int
  private let waiting = Atomic(0)

  init(limit: Int) { self.limit = limit }

  /// True if another one may wait. Callers that ask at one moment may exceed the limit by their number.
  var hasRoom: Bool { waiting.load(ordering: .relaxed) < limit }

  func counting<Result>(_ body: () async -> Result) async -> Result {
    waiting.add(1, ordering: .relaxed)
    defer { waiting.subtract(1, ordering: .relaxed) }
    return await body()
  }
}
