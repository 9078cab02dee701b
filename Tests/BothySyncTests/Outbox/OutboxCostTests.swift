import BothyStore
import BothySync
import BothyTesting
import Foundation
import Testing

/// The cost of a long outbox, in the steps of SQLite's virtual machine for statements that name its table. Four times
/// the changes may cost four times the steps, and a search from the start with each request costs more.
@Suite("Costs of a long outbox", .timeLimit(.minutes(5)))
struct OutboxCostTests {
  enum Work: String, CaseIterable { case inserts, updates, deletions, transactions }

  @Test("Sending pending changes costs steps in proportion to their number", arguments: Work.allCases)
  func sending(_ work: Work) async throws {
    let count = work == .deletions ? 1000 : 300
    let few = try await steps(sending: work, count, in: count / 50)
    let many = try await steps(sending: work, 4 * count, in: count / 50)
    #expect(many < few * 5, "\(work): \(few) and \(many) steps")
  }

  @Test("Conflicts of independent transactions cost steps in proportion to their number")
  func conflicts() async throws {
    let few = try await stepsOfConflicts(40)
    let many = try await stepsOfConflicts(160)
    #expect(many < few * 6, "\(few) and \(many) steps")
  }

  @Test("A sync of several requests looks once for records that were given back")
  func givenBack() async throws {
    let device = try device(sending: 20)
    await device.store.sync()
    try device.change { transaction in
      for number in 0..<50 { try transaction.insert(Note(id: "N\(number)", "new")) }
    }
    let statements = StatementCount()
    try statements.count(in: device.store.store)
    let report = await device.store.sync()
    #expect(report.pushed == 50 && report.requests == 3)
    #expect(statements.number(of: "DELETE FROM bothy_given") == 1)
  }

  /// The changes of which each upload of a blob keeps some waiting: its record, a transaction with it, a record that
  /// refers to it, or a transaction with one that does.
  enum Waiting: String, CaseIterable { case record, transaction, follower, followerTogether }

  // An upload takes several exchanges, so each must leave out what waits for blobs that haven't arrived.
  @Test("What waits for blobs costs steps in proportion to its number", arguments: Waiting.allCases)
  func waiting(_ work: Waiting) async throws {
    let few = try await stepsOfUploads(60, work)
    let many = try await stepsOfUploads(240, work)
    #expect(many < few * 6, "\(work): \(few) and \(many) steps")
  }

  /// Returns the steps of the searches for changes in a sync that uploads this many blobs.
  private func stepsOfUploads(_ count: Int, _ work: Waiting) async throws -> Int {
    let device = try SnapPair().a
    await device.store.sync()
    for number in 0..<count {
      let blob = try await device.store.blobs.add(Data("bytes \(number)".utf8))
      let (id, follower) = ("\(number)", Snap("after \(number)", in: "\(number)"))
      if work == .transaction {
        try await device.store.write(.atomic) { transaction in
          try transaction.insert(Snap(id, "t", blob))
          try transaction.insert(Note(id: id, "with it"))
        }
        continue
      }
      try device.change { try $0.insert(Snap(id, "t", blob)) }
      if work == .follower { try device.change { try $0.insert(follower) } }
      if work == .followerTogether {
        try await device.store.write(.atomic) { transaction in
          try transaction.insert(follower)
          try transaction.insert(Note(id: id, "with it"))
        }
      }
    }
    let part = "INDEXED BY bothy_outbox_"
    _ = try StatementCount.takeSteps(on: part, of: device.store.store)
    let report = await device.store.sync()
    let records =
      switch work {
      case .record: 1
      case .transaction, .follower: 2
      case .followerTogether: 3
      }
    #expect(report.pushed == records * count && report.uploadedBlobs == count)
    return try StatementCount.takeSteps(on: part, of: device.store.store)
  }

  /// Returns a device that sends this many changes in a request.
  private func device(sending batchSize: Int) throws -> SimulatedDevice {
    var configuration = SyncOptions.quiet
    configuration.batchSize = batchSize
    return try SimulatedWorld().addDevice(schema: .notes, configuration: configuration)
  }

  private func steps(sending work: Work, _ count: Int, in batchSize: Int) async throws -> Int {
    let device = try device(sending: batchSize)
    let ids = (0..<count).map { "N\($0)" }
    if work == .updates || work == .deletions {
      try device.change { transaction in for id in ids { try transaction.insert(Note(id: id, "start")) } }
    }
    await device.store.sync()
    switch work {
    case .inserts:
      try device.change { transaction in for id in ids { try transaction.insert(Note(id: id, "new")) } }
    case .updates:
      try device.change { transaction in
        for id in ids { _ = try transaction.update(Note.self, id: id) { $0.title = "new" } }
      }
    case .deletions:
      try device.change { transaction in for id in ids { _ = try transaction.delete(Note.self, id: id) } }
    case .transactions:
      for number in 0..<count / 2 {
        try await device.store.write(.atomic) { transaction in
          for id in ["A\(number)", "B\(number)"] { try transaction.insert(Note(id: id, "new")) }
        }
      }
    }
    _ = try StatementCount.takeSteps(on: "bothy_outbox", of: device.store.store)
    #expect(await device.store.sync().pushed == count)
    return try StatementCount.takeSteps(on: "bothy_outbox", of: device.store.store)
  }

  /// Returns the steps of a sync in which this many transactions give way, each with a change on top of it.
  private func stepsOfConflicts(_ count: Int) async throws -> Int {
    let ids = (0..<count).map { "N\($0)" }
    let pair = try await Pair.sharing(ids)
    for id in ids {
      try await pair.a.store.write(.atomic) { transaction in
        try transaction.update(.note(id), fields: ["title": "together"])
        try transaction.insert(Note(id: "with \(id)", "together"))
      }
      try pair.a.retitle(id, "later")
      try pair.b.retitle(id, "theirs")
    }
    await pair.b.store.sync()
    _ = try StatementCount.takeSteps(on: "bothy_outbox", of: pair.a.store.store)
    await pair.a.store.sync()
    let steps = try StatementCount.takeSteps(on: "bothy_outbox", of: pair.a.store.store)
    #expect(try ids.allSatisfy { try pair.a.title($0) == "theirs" })
    #expect(try pair.a.store.outboxEntries().isEmpty)
    return steps
  }
}
