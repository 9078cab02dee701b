import Synchronization

/// Counts calls from any task.
final class Calls: Sendable {
  private let total = Mutex(0)

  var count: Int { total.withLock { $0 } }

  @discardableResult
  func add() -> Int {
    total.withLock { total in
      total += 1
      return total
    }
  }
}

struct TimedOut: Error {}

/// Yields until `condition` holds because of another task. Throws after a minute.
func until(isolation: isolated (any Actor)? = #isolation, _ condition: () throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(60)
  while try !condition() {
    guard ContinuousClock.now < end else { throw TimedOut() }
    await Task.yield()
  }
}
