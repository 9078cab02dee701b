import BothyStore
import BothySync
import BothyTesting

/// The steps in which a device gets another file, or takes a decision about the history of its server.
extension WideRunner {
  /// Signs out with an export of what is pending, which deletes the file and its journal, and takes the document in with
  /// a new file, as `AccountFolder` does.
  ///
  /// Other processes have ended by then, as a second store on a deleted file sends nothing and has nothing to keep. The
  /// document returns to the same device, so that its writer stays the judge's.
  func export(_ index: Int, again: Bool) async throws {
    let device = device(index)
    let (entries, rows) = try pendingWork(index)
    let document = "\(device.path).export-\(happened["export"] ?? 0).json"
    do {
      try await device.store.signOut(.export(to: document))
      for round in 0..<(again ? 2 : 1) {
        let isNew = try SyncedStore.restorePending(
          from: document, into: device.path, schema: .sheets,
          options: StoreOptions(durability: .normal, processes: .single, readers: 2),
          clock: SyncClock(now: world.time.reader(skew: history.devices[index].skew)))
        if isNew != (round == 0 || entries.isEmpty) {
          intent.complain("\(device.name) took a document in as \(isNew ? "new" : "known")")
        }
      }
    } catch { intent.complain("\(device.name) can't export and import: \(error)") }
    try device.restart()
    // The new file has a journal of its own, and no server yet.
    heard[index] = nil
    met.remove(index)
    uploads.remove(index)
    apart.remove(index)
    let (after, shown) = try pendingWork(index)
    if after != entries { intent.complain("\(device.name) exported \(entries) and imported \(after)") }
    if shown != rows { intent.complain("\(device.name) exported \(rows) and imported \(shown)") }
    count("export")
    if !entries.isEmpty { count("exported pending") }
  }

  /// Returns the pending changes of a device, and the records as they are shown with them.
  private func pendingWork(_ index: Int) throws -> (entries: [String], rows: [String: String]) {
    let entries = try device(index).store.outboxEntries()
    let all = try sheets(index)
    var rows: [String: String] = [:]
    for entry in entries {
      guard let row = all[entry.id.id] else { continue }
      rows[entry.id.id] = try JSONValue.object(row.entity(Sheet.self).fields).canonicalText + row.container
    }
    let texts = entries.map { entry in
      "\(entry.id.id) \(entry.change) \(entry.revision) \(entry.stage) \(entry.operationID ?? "unsent")"
    }
    return (texts, rows)
  }

  /// Decides about the server's history. People may do so before the first sync, in the same history and in a new one.
  ///
  /// The servers of these histories lose nothing, so no upload may bring anything about.
  func adopt(_ index: Int, _ way: WideHistory.Adoption) async throws {
    let store = device(index).store
    switch way {
    case .adoptServer:
      uploads.remove(index)
      apart.remove(index)
      hear(try await store.maintenance.adoptServer(), index)
    case .uploadMine:
      guard knowsHistory(index) else { return }
      uploads.insert(index)
      apart.remove(index)
      hear(try await store.maintenance.uploadMine(), index)
    case .keepApart:
      try await store.maintenance.keepApart()
      apart.insert(index)
    }
    count(way.rawValue)
  }

  /// True if a device can distinguish what a server lost from other records that it lacks.
  ///
  /// A device can't before its first sync, after deletions were forgotten, or with content of its own or records that
  /// moved out of its scopes. An upload returns those by design, and whether they count as lost is undecided.
  private func knowsHistory(_ index: Int) -> Bool {
    met.contains(index) && !keepsOwn.contains(index) && happened["compaction"] == nil
      && device(index).store.followedScopes.contains(.everything)
  }
}
