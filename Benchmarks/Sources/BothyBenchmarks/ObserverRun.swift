import Bars
import BothyStore
import Foundation

/// The cost that a hundred observers of a query add to a write. Blocks of writes with no observer and with all of them
/// alternate on one file.
struct ObserverRun {
  let folder: String
  let repetitions: Int

  /// Returns the median cost of one write with `count` observers divided by that without any.
  func ratio(observers count: Int) async throws -> Double {
    let data = Dataset(rows: 10_000)
    let store = try LocalStore(at: "\(folder)/observers.db", schema: StoreSchema(types: [LocalItem.schema]))
    let items = data.items.map(LocalItem.init)
    try await store.write { transaction in for item in items { try transaction.insert(item) } }
    var ratios: [Double] = []
    var step = 0
    for _ in 0..<max(5, repetitions) {
      let without = try writes(200, to: store, items, &step)
      let observers = try await observe(store, count)
      let with = try writes(200, to: store, items, &step)
      for observer in observers { observer.cancel() }
      for observer in observers { await observer.value }
      ratios.append(with / without)
    }
    try store.close()
    return ratios.median ?? 0
  }

  /// Starts the observers, and returns when each has its first value.
  private func observe(_ store: LocalStore, _ count: Int) async throws -> [Task<Void, Never>] {
    let query = LocalItem.where { _ in Field<Int>("count") < 1000 }
      .order { _ in Field<String>("name").ascending }.limit(20)
    let (started, continuation) = AsyncStream.makeStream(of: Void.self)
    let tasks = (0..<count).map { _ in
      Task {
        do {
          for try await _ in store.values(of: query) { continuation.yield() }
        } catch {
          continuation.finish()  // the wait below ends, and the ratio is of fewer observers
        }
      }
    }
    var iterator = started.makeAsyncIterator()
    for _ in 0..<count { await iterator.next() }
    return tasks
  }

  /// Returns the median time of one write of one record.
  private func writes(_ count: Int, to store: LocalStore, _ items: [LocalItem], _ step: inout Int) throws
    -> Double
  {
    let clock = ContinuousClock()
    var times: [Double] = []
    for _ in 0..<count {
      step += 1
      var item = items[step % items.count]
      item.count = step % 10_000
      let changed = item
      let start = clock.now
      try store.write { try $0.update(changed) }
      times.append(start.duration(to: clock.now) / .seconds(1))
    }
    return times.median ?? 0
  }
}
