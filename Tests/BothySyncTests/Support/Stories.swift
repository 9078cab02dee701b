import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// Two devices of one user and their server.
struct Pair {
  let world: SimulatedWorld
  let a: SimulatedDevice
  let b: SimulatedDevice

  init(
    schema: StoreSchema = .notes, rules: AccessRules = AccessRules(),
    policy: MergePolicy = .remoteWins,
    skew: Int64 = 0, timeouts: VirtualClock? = nil,
    _ configure: (inout SyncOptions) -> Void = { _ in }
  ) throws {
    world = try SimulatedWorld(rules: rules)
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    // A busy machine may take long for a policy.
    if timeouts == nil { configuration.mergeTimeout = .seconds(1000) }
    configure(&configuration)
    a = try world.addDevice("a", schema: schema, configuration: configuration, skew: skew, timeouts: timeouts)
    b = try world.addDevice("b", schema: schema, configuration: configuration)
  }

  /// Returns a pair on which both devices and the server have these notes, titled `start`.
  static func sharing(
    _ ids: [String] = ["T1"], rules: AccessRules = AccessRules(),
    policy: MergePolicy = .remoteWins,
    skew: Int64 = 0, _ configure: (inout SyncOptions) -> Void = { _ in }
  ) async throws -> Pair {
    let pair = try Pair(rules: rules, policy: policy, skew: skew, configure)
    for id in ids { try pair.b.insert(id, "start") }
    await pair.b.store.sync()
    await pair.a.store.sync()
    pair.a.remote.forgetRequests()
    pair.b.remote.forgetRequests()
    return pair
  }

  /// Returns the fields on the server, or nil if the record doesn't exist.
  func server(_ id: String, type: String = "Note") async throws -> [String: JSONValue]? {
    try await world.serverRecords()[RecordID(type: type, id: id)]?.fields.members()
  }

  func serverTitle(_ id: String = "T1") async throws -> String? {
    try await server(id)?["title"]?.stringValue
  }

  /// True if both devices, after syncing, have exactly the server's records, and no change is pending.
  func isEven() async throws -> Bool {
    for device in [a, b, a] { await device.store.sync(.both) }
    let digest = try await world.serverDigest()
    for device in [a, b] {
      let own = try device.store.digest()
      guard own.digest == digest.digest, own.count == digest.count, try device.store.outboxEntries().isEmpty
      else {
        return false
      }
      guard try device.store.diagnose().findings.isEmpty else { return false }
    }
    return true
  }
}

extension SimulatedDevice {
  func insert(_ id: String, _ title: String, note: String? = nil) throws {
    try change { try $0.insert(Note(id: id, title, note: note)) }
  }

  func edit(_ id: String = "T1", _ change: (inout Note) -> Void) throws {
    try store.store.write { _ = try $0.update(Note.self, id: id) { change(&$0) } }
  }

  func retitle(_ title: String) throws { try retitle("T1", title) }
  func retitle(_ id: String, _ title: String) throws { try edit(id) { $0.title = title } }

  func remove(_ id: String = "T1") throws { try change { _ = try $0.delete(Note.self, id: id) } }

  func note(_ id: String = "T1") throws -> Note? { try store.store.fetch(Note.self, id: id) }

  func noteIDs() throws -> [String] { try store.store.fetch(RecordQuery<Note>()).map(\.id).sorted() }

  func title(_ id: String = "T1") throws -> String? { try note(id)?.title }

  func isPending(_ id: String = "T1") throws -> Bool { try store.isPending(.note(id)) }

  /// Performs one transaction of the app.
  func change(_ body: (WriteTransaction) throws -> Void) throws { try store.store.write(body) }

  func put(_ record: AnyRecord) throws { try change { try $0.insert(record) } }

  func record(_ type: String, _ id: String) throws -> AnyRecord? {
    try store.store.record(RecordID(type: type, id: id))
  }

  /// The operations of all exchanges that were tried, in order.
  var operations: [BothySync.SyncOperation] { remote.requests.flatMap(\.operations) }

  /// Lets only the first `count` exchanges pass.
  func loseConnection(after count: Int, sourceLocation: SourceLocation = #_sourceLocation) {
    let calls = Calls()
    remote.plan(sourceLocation: sourceLocation) { calls.add() > count ? .lostRequest : .none }
  }

  /// Loses only the next response to an operation on the record with this id.
  func loseAnswer(carrying id: String = "T1", sourceLocation: SourceLocation = #_sourceLocation) {
    remote.plan(.lostAnswer, on: .operation(on: id), times: 1, sourceLocation: sourceLocation)
  }
}

extension RecordID {
  static func note(_ id: String = "T1") -> RecordID { RecordID(type: "Note", id: id) }
}

extension MergePolicy {
  /// Gives each conflict to `decision`, and counts them.
  static func counting(_ calls: Calls, _ decision: MergeDecision = .server) -> MergePolicy {
    .custom { _ in
      calls.add()
      return decision
    }
  }
}

extension AccessRules {
  /// The rules of a server that doesn't know the field `note` and rejects records that have it.
  static var withoutNotes: AccessRules {
    var type = Note.schema
    type.fields.removeAll { $0.name == "note" }
    return AccessRules(schema: StoreSchema(types: [type]))
  }

  /// The rules of a server on which notes can't be deleted.
  static var undeletable: AccessRules {
    var type = Note.schema
    type.permissions = Permissions(delete: .nobody)
    return AccessRules(schema: StoreSchema(types: [type]))
  }
}
