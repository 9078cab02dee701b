import Bars
import BothySettings
import Synchronization

/// Reads of a group in short rounds that alternate with reads of that struct behind a lock. They run alone, and while
/// another thread commits.
struct ReadRun {
  let folder: String
  private static let rounds = 2000
  private static let reads = 1000

  func bars() async throws -> [Bar] {
    let settings = SharedSettings<ReadGroup>(in: SettingsContainer(at: "\(folder)/settings.bothy"))
    let locked = Locked(try settings.load())
    let alone = measure(settings, locked)
    let end = End()
    let committing = Task.detached {
      var count = 0
      while !end.isOver.load(ordering: .relaxed) {
        try settings.update { $0.visits += 1 }
        count += 1
      }
      return count
    }
    let busy = measure(settings, locked)
    end.isOver.store(true, ordering: .relaxed)
    let commits = try await committing.value
    try settings.home.close()
    print("\(commits) commits were made during the second part.")
    return [
      Bar(claim: "read after the first load, p50", measured: alone.read, limit: 100, unit: "ns"),
      Bar(claim: "  / read of a struct behind a lock", measured: alone.ratio, limit: 3),
      Bar(claim: "read while another thread commits, p50", measured: busy.read, limit: 100, unit: "ns"),
    ]
  }

  /// Returns the median time of a read, and the median of the rounds' ratios.
  private func measure(
    _ settings: SharedSettings<ReadGroup>, _ locked: Locked
  ) -> (read: Double, ratio: Double) {
    var sum = 0
    var times: [Double] = []
    var ratios: [Double] = []
    for _ in 0..<Self.rounds {
      let ours = seconds { for _ in 0..<Self.reads { sum &+= use(settings.current) } }
      let floor = seconds { for _ in 0..<Self.reads { sum &+= use(locked.value) } }
      times.append(ours * 1e9 / Double(Self.reads))
      ratios.append(ours / floor)
    }
    precondition(sum != 1, "The reads were made.")
    return (times.median ?? .infinity, ratios.median ?? .infinity)
  }

  /// Uses the whole group, so that its texts are copied.
  @inline(never)
  private func use(_ group: ReadGroup) -> Int { group.visits &+ group.languageLocale.utf8.count }
}

/// The floor: that struct under a lock.
private final class Locked: Sendable {
  private let state: Mutex<ReadGroup>
  init(_ value: ReadGroup) { state = Mutex(value) }
  var value: ReadGroup { state.withLock { $0 } }
}

/// The signal to the committer that the readers are done.
private final class End: Sendable {
  let isOver = Atomic(false)
}
