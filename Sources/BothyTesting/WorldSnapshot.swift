public import BothyStore
public import BothySync
import BothySyncService

/// The contents of a world at one moment, as a value.
///
/// It has every record, every deletion that the server remembers, all pending changes, and the pull position of each
/// device. Two snapshots can be compared, and `difference(from:)` describes the changes between them in sentences.
/// Everything is in memory. Later changes of the world don't reach it.
public struct WorldSnapshot: Sendable, Hashable {
  /// One side's records: fields by name, with the names that types and fields have on the wire.
  ///
  /// So devices whose schemas have other names can be compared. Fields that are null are left out of a device's
  /// records.
  public typealias Records = [RecordID: [String: JSONValue]]

  /// The contents of one device.
  ///
  /// Types that aren't synced are left out.
  public struct Device: Sendable, Hashable {
    /// Its records of synced types as the app reads them: pending changes and fields its schema does not know included.
    ///
    /// Records that are deleted here are missing, although the server may still have them.
    public var records: Records = [:]
    /// The versions of the records that the server has.
    ///
    /// Records that were created here and not acknowledged yet have none.
    public var versions: [RecordID: String] = [:]
    /// The pending changes, by type and id.
    ///
    /// Drafts and changes that wait for a decision are included. An empty array means that nothing waits.
    public var pending: [Outbox.Entry] = []
    /// The containers that were pulled, with their positions.
    package var containers: [StoreSubscriptions.ScopeStatus] = []
  }

  /// The server's live records.
  ///
  /// All of the space, whatever a device may see of it.
  public var server: Records = [:]
  /// Records that were deleted and whose deletions the server remembers.
  ///
  /// A space whose history was compacted remembers fewer.
  public var deletions: Set<RecordID> = []
  /// The devices' contents by their names.
  ///
  /// All devices of the world, those in other spaces included.
  public var devices: [String: Device] = [:]

  /// Creates an empty snapshot. `SimulatedWorld.snapshot()` creates one of a world.
  package init() {}

  /// True if no change is pending and every device has exactly the server's records.
  ///
  /// A world without devices is even. A device that subscribes to a part, may not see all, or has another space, makes
  /// it uneven.
  public var isEven: Bool { unevenness.isEmpty }

  /// The reasons why the world is not even, in sentences.
  ///
  /// Empty if it is. They are sorted by device: first its pending changes, then the records that differ, by type and
  /// id. Fields are shown as JSON, for the message of a test.
  public var unevenness: [String] {
    devices.sorted { $0.key < $1.key }.flatMap { name, device in
      device.pending.map { "\(name) has \($0.change) of \($0.id) pending." }
        + Self.difference(device.records, server, "\(name)'s", "the server's")
    }
  }

  /// Returns the differences from `other` in sentences. The array is empty if both are equal.
  package func difference(from other: WorldSnapshot) -> [String] {
    var found = Self.difference(server, other.server, "the server's", "the other server's")
    for id in deletions.symmetricDifference(other.deletions).sorted(by: Self.order) {
      found.append("The deletion of \(id) is remembered by one server only.")
    }
    for name in Set(devices.keys).union(other.devices.keys).sorted() {
      guard let mine = devices[name], let theirs = other.devices[name] else {
        found.append("There is a device \(name) in one world only.")
        continue
      }
      found += Self.difference(mine.records, theirs.records, "\(name)'s", "the other \(name)'s")
      if mine.pending != theirs.pending {
        found.append(
          "\(name) has pending \(mine.pending.map(\.id)), the other \(theirs.pending.map(\.id)).")
      }
      if mine.versions != theirs.versions { found.append("\(name) knows other versions.") }
      if mine.containers != theirs.containers { found.append("\(name) has pulled to another place.") }
    }
    return found
  }

  private static func difference(_ mine: Records, _ theirs: Records, _ me: String, _ them: String) -> [String]
  {
    Set(mine.keys).union(theirs.keys).sorted(by: order).compactMap { id in
      switch (mine[id], theirs[id]) {
      case (nil, let fields?): "\(id) is \(them) only: \(JSONValue.object(fields).canonicalText)"
      case (let fields?, nil): "\(id) is \(me) only: \(JSONValue.object(fields).canonicalText)"
      case (let left?, let right?) where left != right:
        "\(id): \(me) is \(JSONValue.object(left).canonicalText), \(them) \(JSONValue.object(right).canonicalText)"
      default: nil
      }
    }
  }

  private static func order(_ left: RecordID, _ right: RecordID) -> Bool {
    (left.type, left.id) < (right.type, right.id)
  }
}

extension SimulatedWorld {
  /// Returns all contents of the world. Reads everything.
  ///
  /// One transaction on the server, and some for each type of each device. Changes between them show up in part, so
  /// take it while no device syncs or writes. Sends no requests, so cuts and scripts don't matter.
  ///
  /// - Parameter space: the space of the server's part; nil for the world's.
  /// - Throws: the storage's error, or `BothyError` of a device's store.
  public func snapshot(_ space: String? = nil) async throws -> WorldSnapshot {
    var snapshot = WorldSnapshot()
    (snapshot.server, snapshot.deletions) = try await storage.read(space: space ?? self.space) { storage in
      var records: WorldSnapshot.Records = [:]
      var deletions: Set<RecordID> = []
      for change in try storage.changes(after: 0, in: .everything, limit: 1 << 30).map(\.record) {
        if change.isDeleted {
          deletions.insert(change.id)
        } else {
          records[change.id] = try change.fields.members()
        }
      }
      return (records, deletions)
    }
    for device in devices { snapshot.devices[device.name] = try device.snapshot() }
    return snapshot
  }
}

extension SimulatedDevice {
  /// Returns all contents of the device. Reads everything.
  ///
  /// A transaction for each synced type, and two more. Blocks the thread meanwhile. Sends no requests.
  ///
  /// - Throws: `BothyError` if the file can't be read, for example after the store was closed.
  public func snapshot() throws -> WorldSnapshot.Device {
    var snapshot = WorldSnapshot.Device()
    let names = WireNames(store.store.schema)
    for type in store.store.schema.types where type.isSynced {
      for record in try store.store.fetch(AnyQuery(type.name)) {
        let id = names.wire(record.recordID)
        snapshot.records[id] = try Self.members(of: record, names.fields(of: type.name))
        snapshot.versions[id] = record.version
      }
    }
    snapshot.pending = try store.outboxEntries()
    snapshot.containers = try store.containers()
    return snapshot
  }

  /// The fields as they are on the wire, those that this schema does not know included.
  private static func members(of record: AnyRecord, _ names: NameMap?) throws -> [String: JSONValue] {
    var members =
      try record.unknownFields.flatMap { try JSONValue(parsing: Array($0.utf8)).objectValue } ?? [:]
    for (name, value) in record.fields {
      var writer = JSONWriter()
      value.write(to: &writer)
      if members[name] == nil { members[name] = try JSONValue(parsing: writer.bytes) }
    }
    let known = members.filter { !$0.value.isNull }
    guard let names else { return known }
    return Dictionary(known.map { (names.wire($0.key), $0.value) }, uniquingKeysWith: { first, _ in first })
  }
}
