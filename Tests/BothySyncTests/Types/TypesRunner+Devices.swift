import BothyStore
import BothySync
import BothyTesting

/// The decisions of users, and the restarts and subscriptions of devices.
extension TypesRunner {
  func purge(_ index: Int, _ name: TypesName, _ pending: Bool) throws {
    let result = try store(index).purge(name.record, includingPending: pending)
    if result.removed > 0 { count(pending ? "forced purge" : "purge") }
  }

  func decide(_ index: Int, _ number: Int, _ decision: TypesHistory.Decision) throws {
    let pending = try store(index).outboxEntries()
    guard !pending.isEmpty, let resolution = Outbox.Decision(rawValue: decision.rawValue) else { return }
    let entry = pending[number % pending.count]
    note("  decided about \(entry.id)")
    try store(index).resolve(entry.id, resolution)
    count("decision \(decision.rawValue)")
  }

  func restore(_ index: Int, _ number: Int) async throws {
    let journal = store(index).journal
    let entries = try journal.entries(losing: true).filter(\.isRestorable)
    guard !entries.isEmpty else { return }
    let entry = entries[number % entries.count]
    note("  restored \(entry.change) of \(entry.record), lost by \(entry.cause)")
    try await journal.restore(entry)
    count("restore")
  }

  func restart(_ index: Int) throws {
    receipts[index] = []
    try device(index).restart()
    count("restart")
  }

  func crash(_ index: Int, _ at: Int) async throws {
    let device = device(index)
    device.failPoints.crash(at: at)
    _ = await device.store.sync()
    if device.failPoints.hasCrashed { count("crash") }
    receipts[index] = []
    try device.restart()
  }

  func follow(_ index: Int, _ names: [String]) async throws {
    strayed.insert(index)
    try await store(index).follow(names.map { $0.isEmpty ? .everything : SyncScope(container: $0) })
    count("follow")
  }

  /// Fetches a type from the server. A device that has always subscribed to everything must then have exactly the
  /// result.
  func fetch(_ index: Int, _ kind: TypesKind) async throws {
    let query = AnyQuery(kind.type)
    let found = try await store(index).fetchResult(query, options: RequestOptions(readPolicy: .remote))
    count("fetch")
    let given = Set(found.records.map(\.id))
    let here = try ids(index, query)
    if !strayed.contains(index) && here != given {
      complain(.fetched, "\(device(index).name) was given \(given.sorted()) and has \(here.sorted())")
    }
  }

  private func ids(_ index: Int, _ query: AnyQuery) throws -> Set<String> {
    Set(try store(index).store.fetch(query).map(\.id))
  }
}
