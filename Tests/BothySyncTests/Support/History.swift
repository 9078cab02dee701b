import BothyStore
import BothySync
import BothyTesting
import Synchronization

/// One random history: four devices, one policy, random writes and random faults. It ends with calm and a check.
///
/// The model contains the values that no merge may lose under `fieldByField`. In a record that no device deleted, each
/// device's own field has its last written value, and the count is the sum of all increments.
struct History {
  private var random: SeededGenerator
  private let world: SimulatedWorld
  private let policy: MergePolicy
  private var model = Model()
  private var log: [String] = []

  /// The writes to records that no device deleted.
  private struct Model {
    var own: [String: [Int: Int]] = [:]
    var score: [String: Int] = [:]
    var deleted: Set<String> = []
  }

  static let deviceCount = 4

  init(seed: UInt64) throws {
    random = SeededGenerator(seed: seed)
    world = try SimulatedWorld()
    let policies: [MergePolicy] = [
      .fieldByField, .fieldByField, .remoteWins, .localWins, .latestWins,
    ]
    policy = policies.randomElement(using: &random) ?? .fieldByField
    let ids = Mutex(SeededGenerator(seed: seed &+ 1))
    for device in 0..<Self.deviceCount {
      var configuration = SyncOptions.quiet
      configuration.merging = MergePolicies(default: policy)
      configuration.batchSize = Int.random(in: 1...5, using: &random)
      configuration.pageSize = Int.random(in: 1...5, using: &random)
      configuration.makeOperationID = { [time = world.time] in
        ids.withLock { UUIDv7.make(at: Timestamp(milliseconds: time.now), using: &$0) }
      }
      let skew = Int64.random(in: -86_400_000...86_400_000, using: &random)
      let added = try world.addDevice(
        schema: .notes, configuration: configuration, skew: device == 0 ? 0 : skew)
      let faults = Mutex(SeededGenerator(seed: seed &* 31 &+ UInt64(device)))
      added.remote.setScript { faults.withLock { .random(using: &$0) } }
    }
  }

  /// Runs the history and returns the problems at the end, or an empty array.
  mutating func run() async throws -> [String] {
    for _ in 0..<Int.random(in: 10...40, using: &random) {
      world.time.advance(by: Int64.random(in: 1...5000, using: &random))
      let index = Int.random(in: 0..<Self.deviceCount, using: &random)
      let device = world.devices[index]
      switch Int.random(in: 0..<10, using: &random) {
      case 0..<6: try write(index, device)
      case 6..<9:
        // A write in the middle of a sync, on the same device.
        let isBusy = random.chance(40)
        let pending = Mutex<Result<Void, any Error>>(.success(()))
        if isBusy {
          let own = plannedWrite(index)
          device.remote.setDuringExchange { [store = device.store.store] in
            pending.withLock { pending in
              pending = Result { try own?.apply(store) }
            }
          }
        }
        _ = await device.store.sync()
        device.remote.setDuringExchange {}
        try pending.withLock { try $0.get() }
      default: try device.restart()
      }
    }
    return try await settle()
  }

  // MARK: writes

  /// A write whose effect doesn't depend on its exact time.
  private final class PlannedWrite: Sendable {
    private let id: String
    private let device: Int
    private let value: Int
    private let isDone = Mutex(false)

    init(id: String, device: Int, value: Int) {
      self.id = id
      self.device = device
      self.value = value
    }

    /// Sets the device's own field, once, if the record exists here.
    func apply(_ store: LocalStore) throws {
      let isFirst = isDone.withLock { done in
        defer { done = true }
        return !done
      }
      guard isFirst, try store.fetch(Note.self, id: id) != nil else { return }
      try store.write { transaction in
        _ = try transaction.update(Note.self, id: id) {
          $0.own[device] = value
        }
      }
    }
  }

  private mutating func plannedWrite(_ index: Int) -> PlannedWrite? {
    // Its record may be deleted by then, which the model can't know. So only records outside the model are used.
    guard let id = model.deleted.sorted().randomElement(using: &random) else { return nil }
    return PlannedWrite(id: id, device: index, value: Int.random(in: 0..<1000, using: &random))
  }

  private mutating func write(_ index: Int, _ device: SimulatedDevice) throws {
    let store = device.store.store
    let known = try store.fetch(RecordQuery<Note>())
    let note = known.randomElement(using: &random)
    switch (Int.random(in: 0..<12, using: &random), note) {
    case (0..<3, _), (_, nil): try create(index, store)
    case (3..<7, let note?):
      let value = Int.random(in: 0..<1000, using: &random)
      try store.write { try $0.update(Note.self, id: note.id) { $0.own[index] = value } }
      model.own[note.id, default: [:]][index] = value
    case (7..<9, let note?):
      try store.write { try $0.update(Note.self, id: note.id) { $0.score += 1 } }
      model.score[note.id, default: 0] += 1
    case (9, let note?):
      let title = "t\(Int.random(in: 0..<10, using: &random))"
      try store.write { try $0.update(Note.self, id: note.id) { $0.title = title } }
    case (10, let note?):
      try store.write { _ = try $0.delete(Note.self, id: note.id) }
      model.deleted.insert(note.id)
    case (_, let note?):
      let again = Note(id: note.id, "again")
      try store.write {
        try $0.delete(Note.self, id: note.id)
        try $0.insert(again)
      }
      model.deleted.insert(note.id)
    }
  }

  private mutating func create(_ index: Int, _ store: LocalStore) throws {
    let id =
      random.chance(30)
      ? "shared\(Int.random(in: 0..<3, using: &random))" : "d\(index)-\(random.next() % 100_000)"
    guard try store.fetch(Note.self, id: id) == nil else { return }
    var note = Note(id: id, "new")
    let value = Int.random(in: 0..<1000, using: &random)
    note.own[index] = value
    note.score = 1
    let made = note
    try store.write { try $0.insert(made) }
    // Another device's record of this id was deleted here before, so the id has more than one record's history.
    if model.deleted.contains(id) { return }
    model.own[id, default: [:]][index] = value
    model.score[id, default: 0] += 1
  }

  // MARK: the end

  private func settle() async throws -> [String] {
    var problems: [String] = []
    for device in world.devices {
      device.remote.setScript { .none }
      try device.restart()
    }
    for _ in 0..<3 {
      for device in world.devices {
        world.time.advance(by: 10)
        let report = await device.store.sync()
        if let reason = report.stop { problems.append("\(device.name) skipped: \(reason)") }
        if !report.rejected.isEmpty { problems.append("\(device.name) failed: \(report.rejected)") }
      }
    }
    let server = try await world.serverRecords()
    let digest = try await world.serverDigest().digest
    for device in world.devices {
      let left = try device.store.outboxEntries()
      if !left.isEmpty { problems.append("\(device.name) still has \(left.map(\.id))") }
      let own = try device.store.digest()
      if own.digest != digest || own.count != server.count {
        problems.append("\(device.name) differs from the server: \(try difference(device, server))")
      }
      let findings = try device.store.diagnose().findings
      if !findings.isEmpty { problems.append("\(device.name): \(findings)") }
    }
    if policy.name == MergePolicy.fieldByField.name { problems += try lostEdits(server) }
    return problems.map { "[\(policy.name)] \($0)" }
  }

  private func lostEdits(_ server: [RecordID: ServerRecord]) throws -> [String] {
    var problems: [String] = []
    for (id, own) in model.own where !model.deleted.contains(id) {
      guard let record = server[RecordID(type: "Note", id: id)] else {
        problems.append("\(id) is lost")
        continue
      }
      let fields = try record.fields.members()
      for (device, value) in own where fields[["a", "b", "c", "d"][device]] != .int(Int64(value)) {
        problems.append("\(id): device \(device + 1) wrote \(value), the server has \(record.fields.text)")
      }
      if fields["score"] != .int(Int64(model.score[id] ?? 0)) {
        problems.append("\(id): counted \(model.score[id] ?? 0), the server has \(record.fields.text)")
      }
    }
    return problems
  }

  private func difference(_ device: SimulatedDevice, _ server: [RecordID: ServerRecord]) throws -> String {
    let here = try device.store.store.fetch(AnyQuery("Note"))
    let missing = server.keys.filter { id in !here.contains { $0.recordID == id } }
    let extra = here.filter { server[$0.recordID] == nil }.map(\.id)
    let different = here.filter { record in
      server[record.recordID].map { $0.version != record.version } ?? false
    }.map { "\($0.id) v\($0.version ?? "-") \($0.fields)" }
    return "missing \(missing), extra \(extra), other version \(different)"
  }
}
