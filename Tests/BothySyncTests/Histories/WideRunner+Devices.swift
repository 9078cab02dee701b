import BothyStore
import BothySync
import BothyTesting
import Synchronization

/// The steps of devices, apps and networks beside writing and syncing.
extension WideRunner {
  func query(_ index: Int, _ way: WideHistory.QueryWay) async throws {
    let store = device(index).store
    count("query")
    switch way {
    case .remote:
      _ = try await store.fetchResult(
        RecordQuery<Sheet>(), options: RequestOptions(readPolicy: .remote))
    case .limited:
      var query = AnyQuery("Sheet")
      query.limit = 2
      _ = try await store.fetchResult(query, options: RequestOptions(readPolicy: .remoteElseLocal))
    case .syncThenLocal:
      // The report of such a read's sync reaches those who listen to the store.
      hear(await store.sync(.both, ifRunning: .join), index)
      _ = try await store.fetchResult(RecordQuery<Sheet>(), options: RequestOptions(readPolicy: .local))
    }
  }

  /// Applies an earlier change of the server, which may be old or already known here.
  func live(_ index: Int, _ number: Int) async throws {
    let versions = intent.state.withLock { $0.versions }
    guard !versions.isEmpty else { return }
    // Mostly one of the latest.
    let change = versions[max(0, versions.count - 1 - number % 8)]
    let outcome = try await device(index).store.apply(PushedChange(change))
    intent.note("  live \(change.id.id) v\(change.version): \(outcome.rawValue)")
    count("live \(outcome.rawValue)")
  }

  func purge(_ index: Int, _ record: Int, _ pending: Bool) throws {
    let store = device(index).store
    let before = try store.outboxEntries()
    let result = try store.purge(Sheet.record("r\(record)"), includingPending: pending)
    if result.removed > 0 { count("purge") }
    if try pending && forget(before, index, "purged", store.outboxEntries()) { count("forced purge") }
  }

  /// Marks changes that are no longer pending as decided: those of one record, and those written together with it.
  /// Returns true if any were.
  private func forget(_ before: [Outbox.Entry], _ index: Int, _ why: String, _ after: [Outbox.Entry]) -> Bool
  {
    // After the first change of a record ends, another may have taken its place.
    let left = Set(after.map { "\($0.id) \($0.revision)" })
    let gone = before.filter { !left.contains("\($0.id) \($0.revision)") }.map(\.id)
    for record in gone { intent.decided(record.id, on: index, why) }
    return !gone.isEmpty
  }

  func decide(_ index: Int, _ number: Int, _ decision: WideHistory.Decision) throws {
    guard let resolution = Outbox.Decision(rawValue: decision.rawValue) else {
      return intent.complain("There is no resolution \(decision.rawValue).")
    }
    let store = device(index).store
    let before = try store.outboxEntries()
    guard !before.isEmpty else { return }
    let entry = before[number % before.count]
    // A record made here and accepted as synced stays here alone, by design.
    if resolution == .keepLocal && before.contains(where: { $0.change == .insert }) { return }
    // Content accepted as synced isn't content that a server lost, but an upload can't tell.
    if resolution == .keepLocal && uploads.contains(index) { return }
    try store.resolve(entry.id, resolution)
    if resolution == .revert {
      for sent in before where sent.operationID != nil { intent.undoes(sent.id.id, on: index) }
    }
    intent.note("  decided \(decision.rawValue) about \(entry.id.id)")
    count("decision \(decision.rawValue)")
    if resolution == .keepLocal { keepsOwn.insert(index) }
    guard resolution != .retry else { return }
    _ = forget(before, index, decision.rawValue, try store.outboxEntries())
  }

  /// Restores content that the journal has as lost, as a person decides who looks at the records.
  func restore(_ index: Int, _ number: Int) async throws {
    let store = device(index).store
    let entries = try store.journal.entries(losing: true, limit: 1000).filter(\.isRestorable)
    guard !entries.isEmpty else { return }
    let entry = entries[number % entries.count]
    let before = try sheets(index)
    try await store.journal.restore(entry)
    let after = try sheets(index)
    for id in Set(before.keys).union(after.keys).union([entry.record.id]).sorted() {
      let isSame = before[id] == after[id]
      // A record that is here as it was lost is sent anew.
      guard !isSame || id == entry.record.id else { continue }
      intent.restored(id, on: index, from: isSame ? nil : before[id], to: after[id])
    }
    count("restore")
  }

  func sheets(_ index: Int) throws -> [String: AnyRecord] {
    let records = try device(index).store.store.read { try $0.fetch(AnyQuery("Sheet")) }
    return Dictionary(records.map { ($0.recordID.id, $0) }, uniquingKeysWith: { $1 })
  }

  /// Writes in another process of the app, which ends after that.
  func beside(_ index: Int, _ act: WideHistory.Act, _ syncs: Bool) async throws {
    let other = try device(index).openBeside()
    try await Self.write(act, index, other, intent)
    if syncs { hear(await other.sync(), index) }
    try other.store.close()
    count("beside")
  }

  func restart(_ index: Int) throws {
    try device(index).restart()
    try findDeeds(index)
    count("restart")
  }

  /// Ends the process at a step of its storage, in the middle of a sync, and opens the file again.
  ///
  /// - Parameter isTold: true if the results of its sync until then are reported. Reports are kept in memory alone.
  func kill(_ index: Int, _ at: Int, isReported: Bool) async throws {
    let device = device(index)
    device.failPoints.crash(at: at)
    let report = await device.store.sync()
    if isReported || !device.failPoints.hasCrashed { hear(report, index) }
    if device.failPoints.hasCrashed { count("kill") }
    try restart(index)
  }

  /// Acknowledges deeds that were begun before a kill and are on the device.
  private func findDeeds(_ index: Int) throws {
    for number in 0..<intent.deedCount {
      let deed = intent.deed(number)
      guard deed.device == index, !deed.isAcknowledged, !deed.texts.isEmpty else { continue }
      let shown = try device(index).store.store.fetch(Sheet.self, id: deed.record)?.shown ?? [:]
      if deed.texts.allSatisfy({ shown[$0.key] ?? "" == $0.value }) { intent.acknowledge(number) }
    }
  }
}
