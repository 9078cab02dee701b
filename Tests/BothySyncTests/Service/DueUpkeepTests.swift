import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import GRDB
import Testing

/// The upkeep of spaces that are due, as a server runs it.
@Suite("Upkeep of due spaces", .timeLimit(.minutes(5)))
struct DueUpkeepTests {
  private let day = RetentionPolicy.day
  private let hour = RetentionPolicy.hour
  private let ann = Caller("ann")

  private func insert(_ world: SimulatedWorld, _ device: String) async throws -> Outcome.Verdict {
    let operation = BothySync.SyncOperation(
      id: "op-\(device)", kind: .insert, record: .note(device), fields: ["note": .string("text")])
    let request = SyncRequest(device: device, operations: [operation])
    let response = try await world.service.sync(space: "test", user: ann, request)
    return try #require(response.outcomes.first).verdict
  }

  @Test("Outcomes are forgotten by age, and within it an operation is a duplicate")
  func outcomes() async throws {
    let world = try SimulatedWorld()
    for device in ["a", "b"] {
      guard case .applied = try await insert(world, device) else {
        Issue.record("not applied")
        return
      }
    }
    world.time.advance(by: 89 * day)
    _ = try await world.lookAfterDue()
    guard case .duplicate = try await insert(world, "a") else {
      Issue.record("not a duplicate")
      return
    }
    world.time.advance(by: 2 * day)
    #expect(try await world.lookAfterDue().map(\.outcomes) == [1])
    // The repetition has renewed the outcome.
    guard case .duplicate = try await insert(world, "a") else {
      Issue.record("not a duplicate")
      return
    }
    // The other device gets a new decision, which changes nothing.
    guard case .conflict(let current) = try await insert(world, "b") else {
      Issue.record("not a conflict")
      return
    }
    #expect(current?.version == "2")
    #expect(try await world.storage.read(space: "test") { $0.head } == 2)
  }

  @Test("An idle space is looked after once, and again when something is too old")
  func idle() async throws {
    let world = try SimulatedWorld()
    _ = try await insert(world, "a")
    #expect(try await world.lookAfterDue().count == 1)
    for _ in 0..<89 {
      world.time.advance(by: day)
      #expect(try await world.lookAfterDue().isEmpty)
    }
    world.time.advance(by: day + 1)
    let reports = try await world.lookAfterDue()
    #expect(reports.map(\.floor) == [1] && reports.map(\.outcomes) == [1])
    world.time.advance(by: 1000 * day)
    #expect(try await world.lookAfterDue().isEmpty)
  }

  @Test("A device's cursors are noted in one transaction, with the lowest of each scope")
  func acknowledging() async throws {
    let world = try SimulatedWorld()
    for device in ["a", "b", "c"] { _ = try await insert(world, device) }
    let pull = SyncRequest(device: "d", pulls: [.init(.everything)])
    let response = try await world.service.sync(space: "test", user: ann, pull)
    let token = try #require(response.pages.first?.cursor)
    var earlier = try #require(Cursor(token: token))
    earlier.position = 2
    let both = SyncRequest(
      device: "d", pulls: [.init(.everything, cursor: earlier.token), .init(.everything, cursor: token)])
    #expect(try await world.service.acknowledge(space: "test", both))
    #expect(try await world.storage.acknowledged(space: "test", since: 0) == 2)
    #expect(try await !world.service.acknowledge(space: "none", both))
    #expect(try await world.storage.spaces() == ["test"])
  }

  @Test("A device counts beside that of another user who gives it the same id")
  func sameDevice() async throws {
    let world = try SimulatedWorld()
    for device in ["a", "b"] { _ = try await insert(world, device) }
    let pull = SyncRequest(device: "d", pulls: [.init(.everything)])
    let response = try await world.service.sync(space: "test", user: ann, pull)
    let token = try #require(response.pages.first?.cursor)
    var cursor = try #require(Cursor(token: token))
    for (name, position) in [("ann", Int64(1)), ("bob", 2)] {
      cursor.position = position
      let request = SyncRequest(device: "d", pulls: [.init(.everything, cursor: cursor.token)])
      #expect(try await world.service.acknowledge(space: "test", user: Caller(name), request))
    }
    #expect(try await world.storage.acknowledged(space: "test", since: 0) == 1)
    #expect(try await world.storage.statistics(of: "test").devices == 2)
  }

  @Test(
    "The name of a device tells its user and its own id",
    arguments: [nil, "", "ann", "ü/0", "3:a", "\u{600}"] as [String?], ["phone", "/", "\u{301}x", "3:ann/"])
  func deviceNames(user: String?, device: String) {
    let name = DeviceName(device, of: Caller(user))
    #expect(DeviceName(name.text) == name && name.device == device)
    #expect(name.first.utf8.elementsEqual(name.text.utf8.dropLast(device.utf8.count)))
    for other in ["phone", "3:an/x", "9:ann/x", "-1:/x", ":/x", "9223372036854775807:/x"] {
      #expect(DeviceName(other) == nil, "\(other)")
    }
  }

  // MARK: blobs

  @Test("A blob of an idle space has its whole grace after its last record")
  func grace() async throws {
    let pair = try SnapPair()
    let world = pair.world
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    #expect(try await world.lookAfterDue().count == 1)
    world.time.advance(by: 60 * day)
    #expect(try await world.lookAfterDue().isEmpty, "nothing is due, and no record is read")
    try await pair.a.store.store.write { _ = try $0.delete(Snap.self, id: "1") }
    await pair.a.store.sync()
    #expect(try await world.lookAfterDue().map(\.blobs) == [0])
    world.time.advance(by: 6 * day)
    #expect(try await world.lookAfterDue().isEmpty)
    #expect(try await world.service.blobs?.kept(in: "test").count == 1)
    world.time.advance(by: day)
    #expect(try await world.lookAfterDue().map(\.blobs) == [1])
    #expect(try await world.service.blobHolding(space: "test", blob.sha256) == .part(0))
  }

  @Test("A blob is deleted after its record despite a clock years ahead")
  func clockAhead() async throws {
    let pair = try SnapPair()
    let world = pair.world
    try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    world.time.advance(by: 3000 * day)
    #expect(try await world.lookAfterDue().count == 1)
    world.time.advance(by: -3000 * day)
    try await pair.a.store.store.write { _ = try $0.delete(Snap.self, id: "1") }
    await pair.a.store.sync()
    #expect(try await world.lookAfterDue().map(\.blobs) == [0])
    world.time.advance(by: 8 * day)
    #expect(try await world.lookAfterDue().map(\.blobs) == [1])
  }

  @Test("Daily collections of a busy space don't renew the grace of a blob")
  func busy() async throws {
    let pair = try SnapPair()
    let world = pair.world
    try await pair.a.snap("1", picture())
    try await pair.a.snap("2", picture(15, 2))
    await pair.a.store.sync()
    _ = try await world.lookAfterDue()
    try await pair.a.store.store.write { _ = try $0.delete(Snap.self, id: "1") }
    var removed: [Int] = []
    for number in 0..<10 {
      world.time.advance(by: day)
      try pair.a.editSnap("2") { $0.title = "\(number)" }
      await pair.a.store.sync()
      removed += try await world.lookAfterDue().map(\.blobs)
    }
    #expect(removed == [0, 0, 0, 0, 0, 0, 0, 1, 0, 0])
    #expect(try await world.service.blobs?.kept(in: "test").count == 1)
  }

  @Test("A blob that comes after its record to an idle space is kept")
  func late() async throws {
    let pair = try SnapPair()
    let world = pair.world
    let blob = try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    let vault = try #require(world.service.blobs)
    try await vault.remove(space: "test")
    _ = try await world.lookAfterDue()
    world.time.advance(by: 2 * hour)
    #expect(try await world.lookAfterDue().isEmpty)
    let part = BlobPart(sha256: blob.sha256, size: 45, offset: 0, bytes: Array(picture()))
    #expect(try await world.service.uploadBlob(space: "test", part) == .whole(size: 45))
    #expect(try await world.lookAfterDue().count == 1)
    let later = Int64(Date().timeIntervalSince1970 * 1000) + 400 * 365 * day
    _ = try await vault.sweep(before: later)
    #expect(try await world.service.blobHolding(space: "test", blob.sha256) == .whole(size: 45))
  }

  @Test("One process takes the sweep of a vault for each period")
  func sweeping() async throws {
    let pair = try SnapPair()
    let vault = try #require(pair.world.service.blobs)
    func take(_ time: Int64) async throws -> Bool {
      try await vault.takeSweep(at: time, every: day, lease: 1000)
    }
    let start = 9 * day
    #expect(try await !take(start), "nothing was uploaded yet")
    try await pair.a.snap("1", picture())
    await pair.a.store.sync()
    #expect(try await take(start))
    try await vault.noteSweep(at: start)
    #expect(try await !take(start + day - 1))
    #expect(try await take(start + day))
    #expect(try await !take(start + day + 999))
    #expect(try await take(start + day + 1000), "it wasn't done within its lease")
    // After the clock was set back, the sweep isn't put off for ever.
    #expect(try await take(8 * day))
  }

  // MARK: older files

  @Test("Spaces of an older file become due spread over an hour")
  func olderFile() async throws {
    let folder = try TemporaryFolder()
    let path = folder.path + "/ledger.sqlite"
    let first = try SQLiteServerStorage(at: path)
    for number in 0..<50 {
      _ = try await first.write(space: "s\(number)") { try $0.remember([], device: "d", at: 0) }
    }
    try first.close()
    let queue = try DatabaseQueue(path: path)
    try await queue.write { database in
      try database.execute(sql: "DROP INDEX space_due")
      for column in ["due", "rest", "oldest_outcome", "blobs_at", "blobs_head", "blobs_due"] {
        try database.execute(sql: "ALTER TABLE space DROP COLUMN \(column)")
      }
      try database.execute(sql: "PRAGMA user_version = 1")
    }
    try queue.close()
    let storage = try SQLiteServerStorage(at: path)
    let now = Int64(Date().timeIntervalSince1970 * 1000)
    #expect(try await storage.dueCount(at: now - hour, limit: 99) == 0)
    #expect(try await storage.dueCount(at: now + hour, limit: 99) == 50)
    #expect((1..<50).contains(try await storage.dueCount(at: now + hour / 2, limit: 99)))
    try storage.close()
    let again = try SQLiteServerStorage(at: path)
    #expect((1..<50).contains(try await again.dueCount(at: now + hour / 2, limit: 99)))
    try again.close()
  }
}
