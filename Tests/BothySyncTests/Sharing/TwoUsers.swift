import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Testing

/// Ann, who owns records, and Bob, who sees those that Ann shares. Each has a device, and both use one server.
struct TwoUsers {
  let world: SimulatedWorld
  let ann: SimulatedDevice
  let bob: SimulatedDevice

  init(
    rules: AccessRules = SharingRuleTests.rules(),
    schema: StoreSchema = .notes, _ configure: (inout SyncOptions) -> Void = { _ in }
  ) throws {
    world = try SimulatedWorld(rules: rules)
    var configuration = SyncOptions.quiet
    configuration.writePolicy = .local
    configure(&configuration)
    ann = try world.addDevice(
      "ann", schema: schema, configuration: configuration, user: Caller("ann"))
    bob = try world.addDevice(
      "bob", schema: schema, configuration: configuration, user: Caller("bob"))
  }

  func sync(_ devices: SimulatedDevice...) async {
    for device in devices { await device.store.sync() }
  }

  /// Returns the audience of a record on the server.
  func serverSharing(_ id: String = "T1") async throws -> Audience? {
    try await world.serverRecords()[.note(id)]?.sharing
  }

  /// True if each device, after syncing, has exactly its user's visible records, and no change is pending.
  func isEven() async throws -> Bool {
    for device in [ann, bob, ann, bob] { await device.store.sync() }
    for (device, name) in [(ann, "ann"), (bob, "bob")] {
      let digest = try await world.serverDigest(user: Caller(name))
      let own = try device.store.digest()
      guard own.digest == digest.digest, own.count == digest.count, try device.store.outboxEntries().isEmpty,
        try device.store.diagnose().findings.isEmpty
      else { return false }
    }
    return true
  }
}
