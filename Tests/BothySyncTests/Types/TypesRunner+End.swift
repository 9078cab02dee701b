import BothyStore
import BothySync
import BothyTesting

/// The calm phase at the end, and the checks after it.
extension TypesRunner {
  /// Ends all disturbances and syncs: networks work, policies decide, and drafts are released.
  ///
  /// Every device subscribes to everything, and changes that are rejected repeatedly are reverted.
  func calm() async throws {
    note("the end")
    for own in settings { own.calm() }
    for index in strayed.sorted() { try await store(index).follow([.everything]) }
    for round in 0..<8 {
      for index in world.devices.indices { try await settle(index, round) }
    }
  }

  /// Reports differences between devices and server, pending changes, and receipts without a result.
  func judge() async throws {
    try await judgeSnapshot()
    let server = try await world.serverRecords()
    for index in world.devices.indices {
      try judgeRecords(index, server)
      try await judgeReceipts(index)
    }
  }

  private func settle(_ index: Int, _ round: Int) async throws {
    try release(index)
    let store = store(index)
    if round >= 3 {
      for entry in try store.rejectedEntries() where try store.isPending(entry.id) {
        try store.resolve(entry.id, .revert)
      }
    }
    world.time.advance(by: 3_600_000)
    let report = await store.sync()
    guard let reason = report.stop else { return }
    note("  round \(round): \(reason)")
    complain(.stuck, "\(device(index).name) skipped a sync in the calm: \(reason)")
  }

  private func judgeSnapshot() async throws {
    let all = try await world.snapshot()
    for (name, device) in all.devices.sorted(by: { $0.key < $1.key }) {
      var snapshot = all
      snapshot.devices = [name: device]
      // A record that was accepted locally and never sent stays on its device alone.
      let own = device.records.keys.filter { device.versions[$0] == nil }.map { "\($0) is \(name)'s only" }
      for text in snapshot.unevenness where !own.contains(where: text.hasPrefix) {
        let kind: TypesProblem.Kind =
          text.hasSuffix("pending.") ? .pending : text.contains(" only: ") ? .absent : .differing
        complain(kind, text.contains(name) ? text : "\(name): \(text)")
      }
    }
  }

  private func judgeRecords(_ index: Int, _ server: [RecordID: ServerRecord]) throws {
    let device = device(index)
    for finding in try device.store.diagnose().findings where finding.severity != .note {
      complain(.diagnosis, "\(device.name): \(finding.message)")
    }
    for type in TypesSchema.schema.types {
      for record in try device.store.store.fetch(AnyQuery(type.name)) {
        guard let there = server[record.recordID] else { continue }
        let sharing = try device.store.audience(of: record.recordID)
        let id = "\(device.name) \(record.recordID)"
        if record.version != there.version {
          complain(.version, "\(id) v\(record.version ?? "-"), server v\(there.version)")
        }
        if record.container != there.container {
          complain(.container, "\(id) in \(record.container), server in \(there.container)")
        }
        if record.metadata != there.metadata {
          complain(.metadata, "\(id) \(record.metadata), server \(there.metadata)")
        }
        if sharing != there.sharing { complain(.sharing, "\(id) \(sharing), server \(there.sharing)") }
      }
    }
  }

  /// Checks that each receipt has a result. No change is pending, so each write was decided.
  private func judgeReceipts(_ index: Int) async throws {
    guard try store(index).outboxEntries().isEmpty else { return }
    for receipt in receipts[index] {
      let outcome = try await receipt.outcome()
      if [.pending, .draft, .unknown].contains(outcome) {
        complain(.receipt, "\(device(index).name) \(receipt.record) is \(outcome)")
      }
    }
  }
}
