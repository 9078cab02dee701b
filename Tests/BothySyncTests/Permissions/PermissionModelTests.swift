import BothyStore
import BothySync
import BothySyncService
import BothyTesting
import Foundation
import Testing

@Suite("Conditions against a model", .timeLimit(.minutes(30)))
struct PermissionModelTests {
  /// The seeds of the histories: `BOTHY_PERMISSION_SEEDS` sets their number, `BOTHY_SEED` chooses a single one.
  private static let seeds: [UInt64] = {
    let environment = ProcessInfo.processInfo.environment
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    return Array(1...(environment["BOTHY_PERMISSION_SEEDS"].flatMap { UInt64($0) } ?? 40))
  }()

  /// Promises: A-16
  @Test("Every route and device has the records that a model filters by the conditions")
  func histories() async throws {
    for seed in Self.seeds {
      var history = try PermissionHistory(seed: seed)
      var random = SeededGenerator(seed: seed &* 7)
      var devices = Array(repeating: ModelDevice(), count: history.users.count)
      for _ in 0..<25 {
        try await history.step()
        for index in devices.indices { devices[index].noteRights(of: history.users[index], in: history) }
        let index = Int.random(in: devices.indices, using: &random)
        try await history.checkRoutes(for: history.users[index])
        if random.chance(60) {
          let limit = [1, 2, 3, 100].randomElement(using: &random) ?? 1
          try await devices[index].pull(as: history.users[index], &history, limit: limit)
        }
      }
      for index in devices.indices {
        try await history.checkRoutes(for: history.users[index])
        try await devices[index].pull(as: history.users[index], &history, limit: 2)
      }
      #expect(
        history.problems.isEmpty,
        """
        Seed \(seed): \(history.problems.prefix(5).joined(separator: "; ")). Read by \
        \(history.permissions.read.text). Replay with BOTHY_SEED=\(seed).
        """)
    }
  }
}

/// The records of a device of one user, as pages bring and take them.
struct ModelDevice {
  private var cursor: String?
  private var docs: [String: ServerRecord] = [:]
  /// The ids of records that the user made, or that its rights at any time showed, in any of their states.
  private var known: Set<String> = []

  /// Notes what the user may know by its present rights.
  mutating func noteRights(of user: Caller, in history: PermissionHistory) {
    for (id, states) in history.past {
      let isKnown = states.contains {
        history.sees(user, $0) || user.name != nil && $0.owner == user.name
      }
      if isKnown { known.insert(id) }
    }
  }

  /// Pulls all pages, and compares the records with those that the user may see.
  mutating func pull(as user: Caller, _ history: inout PermissionHistory, limit: Int) async throws {
    let name = user.name ?? "-"
    var isFetched = false
    for _ in 0..<1000 {
      let request = SyncRequest(device: name, pulls: [.init(.everything, cursor: cursor)], limit: limit)
      let response = try await history.service.sync(space: "s", user: user, request)
      guard let page = response.pages.first else { return history.note("\(name) has no page") }
      if page.reset { docs = [:] }
      for record in page.changes where record.id.type == "Doc" {
        if !known.contains(record.id.id) { history.note("\(name) received \(record.id)") }
        docs[record.id.id] = record.isDeleted ? nil : record
        if record.isDeleted, record.fields != .empty { history.note("\(record.id) has fields") }
      }
      for id in page.outOfScope {
        if !known.contains(id.id) { history.note("\(name) learned of \(id)") }
        docs[id.id] = nil
      }
      isFetched = isFetched || page.types.contains("Doc")
      cursor = page.cursor
      if !page.more { break }
    }
    if isFetched {
      let found = try await history.service.query(space: "s", user: user, AnyQuery("Doc"))
      docs = Dictionary(uniqueKeysWithValues: found.map { ($0.id.id, $0) })
    }
    let expected = history.visible(to: user)
    if Set(docs.keys) != expected {
      history.note("\(name) holds \(docs.keys.sorted()), not \(expected.sorted())")
    }
    for (id, record) in docs where expected.contains(id) {
      let doc = history.docs[id]
      if try record.version != doc?.version || record.fields.members() != doc?.fields {
        history.note("\(name) holds an old \(id)")
      }
    }
  }
}

extension PermissionHistory {
  /// Compares the answers to a user with the model.
  mutating func checkRoutes(for user: Caller) async throws {
    let (seen, deleted) = (visible(to: user), visible(to: user, deleted: true))
    let name = user.name ?? "-"
    for number in 0..<6 {
      let id = "d\(number)"
      let record = try await service.record(space: "s", user: user, RecordID(type: "Doc", id: id))
      let isRight =
        record.map { $0.isDeleted ? deleted.contains(id) : seen.contains(id) }
        ?? !seen.union(deleted).contains(id)
      if !isRight { note("\(name) read \(id): \(record == nil ? "nothing" : "it")") }
    }
    let all = try await service.query(space: "s", user: user, AnyQuery("Doc")).map(\.id.id)
    if all != seen.sorted() { note("\(name) queried \(all)") }
    let part = try await service.query(
      space: "s", user: user, AnyQuery("Doc", where: ConditionTree.all, limit: 2, offset: 1))
    if part.map(\.id.id) != Array(seen.sorted().dropFirst().prefix(2)) {
      note("\(name) queried a part wrongly")
    }
    let open = AnyQuery("Doc", where: .compare(field: "state", .equal, "open"))
    let expected = seen.filter { docs[$0]?.fields["state"] == "open" }
    let found = try await service.query(space: "s", user: user, open).map(\.id.id)
    if found != expected.sorted() { note("\(name) queried \(found) of open ones") }
    let count = try await service.count(space: "s", user: user, open)
    if count != expected.count { note("\(name) counted \(count)") }
    let digest = try await service.digest(space: "s", user: user, .everything)
    if digest.count != seen.count + members.count { note("\(name) has a digest of \(digest.count)") }
    let stamps = try await service.stamps(
      space: "s", user: user, .everything, parts: 3, in: [0, 1, 2])
    if Set(stamps.map(\.id).filter { $0.type == "Doc" }.map(\.id)) != seen {
      note("\(name) has other stamps")
    }
    let containers = try await service.containers(space: "s", user: user, .everything)
    let sum = containers.filter { $0.container != "Member" }.map(\.count).reduce(0, +)
    if sum != seen.count { note("\(name) has containers with \(sum)") }
    let query = HistoryQuery(limit: SyncService.historyPageLimit)
    let entries = try await service.history(space: "s", user: user, query).entries
    let reported = entries.map(\.record).filter { $0.type == "Doc" }.map(\.id)
    if reported != changes.reversed().filter(seen.union(deleted).contains) {
      note("\(name) has another history")
    }
    var device = ModelDevice()
    device.noteRights(of: user, in: self)
    try await device.pull(as: user, &self, limit: 3)
  }
}
