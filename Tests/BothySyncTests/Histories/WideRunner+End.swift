import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Synchronization

/// The end of a history and the checks of its result.
extension WideRunner {
  /// Brings everything to rest and returns the problems. Networks work, policies return, drafts are released and
  /// rejected changes are retried.
  func end() async throws -> [String] {
    intent.note("the end")
    policiesWorkAgain()
    world.setRules(AccessRules())
    for index in world.devices.indices {
      try device(index).restart()
      try release(index)
    }
    for round in 0..<4 {
      // A request that was held up by the network may arrive in the last sync of a round.
      let versions = intent.versionCount
      var isAtRest = true
      for index in world.devices.indices {
        world.time.advance(by: 1000)
        let store = device(index).store
        for entry in try store.rejectedEntries() where round < 3 { _ = try store.resolve(entry.id, .retry) }
        let report = await store.sync()
        hear(report, index)
        // After a new epoch such a device can't distinguish the losses of a restore from three other kinds of records:
        // its own content, records that moved outside its scopes, and records that were deleted and forgotten. A person
        // decides, and also about a device that was kept apart.
        if report.stop?.name == "otherServer",
          keepsOwn.contains(index) || apart.contains(index) || happened["compaction"] != nil
            || !store.followedScopes.contains(.everything)
        {
          hear(try await store.maintenance.adoptServer(), index)
          isAtRest = false
        }
        if try report.pushed + report.pulled > 0 || report.stop != nil || !store.outboxEntries().isEmpty {
          isAtRest = false
        }
        try readJournal(of: index)
      }
      // Nothing was sent and nothing came, so further syncs bring nothing either.
      if isAtRest && intent.versionCount == versions { break }
    }
    var problems: [String] = []
    let server = try await world.serverRecords()
    for index in world.devices.indices { problems += try await differences(index, server) }
    problems += try modelDiffers(server)
    countFiles()
    let pending = try world.devices.map { Set(try $0.store.outboxEntries().map(\.id.id)) }
    problems += intent.lost { pending[$0].contains($1) }
    return problems
  }

  /// Returns the differences between a device and the server, in all that the device follows.
  private func differences(
    _ index: Int, _ server: [RecordID: ServerRecord]
  ) async throws -> [String] {
    let device = device(index)
    var problems: [String] = []
    for entry in try device.store.outboxEntries() {
      problems.append("\(device.name) still has the \(entry.change) of \(entry.id.id)")
    }
    let scopes = device.store.followedScopes
    let records = try await records(of: device)
    let here = Dictionary(records.map { ($0.recordID, $0) }, uniquingKeysWith: { $1 })
    for (id, record) in server where scopes.contains(where: { $0.contains(record.container) }) {
      guard let own = here[id] else {
        problems.append("\(device.name) lacks \(id.id)")
        continue
      }
      let fields = try record.fields.members()
      let shown: [String: JSONValue] = try own.entity(Sheet.self).fields
      if fields.filter({ $0.value != .string("") }) != shown || own.container != record.container
        || own.version != record.version
      {
        problems.append(
          "\(device.name) has \(id.id) v\(own.version ?? "-") \(JSONValue.object(shown).canonicalText) in "
            + "\(own.container), the server v\(record.version) \(record.fields.text) in \(record.container)")
      }
    }
    // A record written outside all followed scopes stays as it was last known here.
    for (id, own) in here where scopes.contains(where: { $0.contains(own.container) }) {
      guard let record = server[id] else {
        problems.append("\(device.name) has \(id.id) v\(own.version ?? "-"), which the server has not")
        continue
      }
      if !scopes.contains(where: { $0.contains(record.container) }) {
        problems.append("\(device.name) has \(id.id) still, which went to \(record.container)")
      }
    }
    let findings = try device.store.diagnose().findings
    if !findings.isEmpty { problems.append("\(device.name): \(findings.map(\.message))") }
    problems += try await fileProblems(index, records)
    return problems
  }

  private func records(of device: SimulatedDevice) async throws -> [AnyRecord] {
    try await device.store.store.read { try $0.fetch(AnyQuery("Sheet")) }
  }

  /// Returns the differences between the server and the judge's model of it, on which all other checks depend.
  private func modelDiffers(_ server: [RecordID: ServerRecord]) throws -> [String] {
    let model = intent.state.withLock { $0.server }
    var problems: [String] = []
    for (id, fields) in model {
      let stored = try server[Sheet.record(id)]?.fields.members()
      if stored != fields { problems.append("The judge's \(id) is not the server's") }
    }
    return problems
  }
}

extension Sheet {
  /// The fields in the form of the wire.
  var fields: [String: JSONValue] {
    var fields = shown.mapValues { JSONValue.string($0) }
    fields["file"] = file.map { .object(["sha256": .string($0.sha256), "size": .int(Int64($0.size))]) }
    fields["score"] = .int(Int64(score))
    return fields
  }
}
