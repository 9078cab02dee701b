import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

/// All small graphs of changes that need each other: three new records in all groupings, what became of the first request
/// with them, and a second writing on top that refers to others.
///
/// As long as the server answers, one of the changes can be sent, so all of them arrive. None of them is rejected.
@Suite("Every small graph of waiting changes", .faultsStrike, .timeLimit(.minutes(10)))
struct WaitingGraphTests {
  /// What happened to the first request, or to all with the first record.
  enum Weather: CaseIterable { case calm, lostRequest, lostAnswer, failed, refused, failedThenRefused }

  /// The distance of the graphs that are tried. All of them take more than ten minutes: `BOTHY_GRAPHS=all`.
  private static let stride = ProcessInfo.processInfo.environment["BOTHY_GRAPHS"] == "all" ? 1 : 30

  /// References of records, by their numbers.
  private typealias Edges = [Int: Int]

  private struct Case {
    var first: [[Int]]
    var references: Edges
    var isRequired: Bool
    var second: [[Int]]
    var later: Edges
  }

  private static let names = ["A", "B", "C"]
  private static let groupings = [
    [[0], [1], [2]], [[0, 1], [2]], [[0], [1, 2]], [[0, 2], [1]], [[0, 1, 2]],
  ]
  private static let schema = StoreSchema(
    types: [
      TypeSchema(
        "Node",
        fields: [
          FieldSchema("name", .text), FieldSchema("must", .references(to: "Node", onDelete: .cascade)),
          FieldSchema("may", .reference(to: "Node", onDelete: .nullify), optional: true),
        ])
    ])

  private static var cases: [Case] {
    var cases: [Case] = []
    for first in groupings {
      for references in [[:], [0: 1], [1: 0], [0: 1, 1: 2], [2: 1, 1: 0]] as [Edges] {
        for isRequired in references.isEmpty ? [false] : [false, true] {
          for second in [groupings[0], groupings[3], groupings[4]] {
            for later in [[:], [1: 0], [2: 0], [0: 2]] as [Edges] {
              cases.append(
                Case(
                  first: first, references: references, isRequired: isRequired, second: second, later: later))
            }
          }
        }
      }
    }
    return cases
  }

  @Test("All of three records that refer to each other arrive", arguments: Weather.allCases)
  func graphs(_ weather: Weather) async throws {
    let offset = Self.stride == 1 ? 0 : Weather.allCases.firstIndex(of: weather) ?? 0
    for (number, item) in Self.cases.enumerated() where number % Self.stride == offset {
      try await run(item, weather)
    }
  }

  private func run(_ item: Case, _ weather: Weather) async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: Self.schema, checksReferences: true))
    let a = try world.device("a", Self.schema) { $0.rejectionPolicy = .quarantine(after: 1) }
    await a.store.sync()
    try write(item.first, on: a) { node, transaction in
      let target = item.references[node].map { Self.names[$0] }
      var record = AnyRecord("Node", id: Self.names[node], ["name": "first", "must": .list([])])
      if let target, item.isRequired { record["must"] = .list([target]) }
      if let target, !item.isRequired { record["may"] = .text(target) }
      try transaction.insert(record)
    }
    await disturb(a, weather)
    try write(item.second, on: a) { node, transaction in
      var fields: [String: FieldValue] = ["name": "second"]
      if let target = item.later[node] { fields["may"] = .text(Self.names[target]) }
      _ = try transaction.update(RecordID(type: "Node", id: Self.names[node]), fields: fields)
    }
    for entry in try a.store.rejectedEntries() { try a.store.resolve(entry.id, .retry) }
    let name: Comment = "\(item) \(weather)"
    for _ in 0..<5 where try !a.store.outboxEntries().isEmpty {
      world.time.advance(by: 3_600_000)
      #expect(await a.store.sync().rejected.isEmpty, name)
    }
    #expect(try a.store.outboxEntries().isEmpty, name)
    #expect(try await world.serverRecords().count == 3, name)
    #expect(try await a.store.maintenance.verify(), name)
  }

  /// The first record is made alone and needs the second, which may not exist yet. Each of two transactions then makes
  /// the records that are missing, and changes some of the others.
  @Test("All of three records arrive with two transactions on top of each other", arguments: [false, true])
  func stacked(_ isRequired: Bool) async throws {
    var number = 0
    for back in [[:], [1: 0], [2: 0], [1: 2], [2: 1], [1: 2, 2: 0]] as [Edges] {
      for made in [[0, 2, 2], [0, 1, 2], [0, 2, 1], [0, 0, 2], [0, 2, 0]] {
        for first in Self.subsets((0..<3).filter { made[$0] < 1 }) {
          for second in Self.subsets((0..<3).filter { made[$0] < 2 }) {
            number += 1
            guard number % Self.stride == 0 else { continue }
            try await runStacked(made, [first, second], back, isRequired)
          }
        }
      }
    }
  }

  private static func subsets(_ nodes: [Int]) -> [[Int]] {
    var subsets: [[Int]] = [[]]
    for node in nodes { subsets += subsets.map { $0 + [node] } }
    return subsets
  }

  private func runStacked(
    _ made: [Int], _ changed: [[Int]], _ back: Edges, _ isRequired: Bool
  ) async throws {
    let world = try SimulatedWorld(rules: AccessRules(schema: Self.schema, checksReferences: true))
    let a = try world.device("a", Self.schema) { $0.rejectionPolicy = .quarantine(after: 1) }
    await a.store.sync()
    let name: Comment = "made \(made), changed \(changed), back \(back), required \(isRequired)"
    func insert(_ node: Int, _ transaction: WriteTransaction) throws {
      var record = AnyRecord("Node", id: Self.names[node], ["name": "first", "must": .list([])])
      if node == 0 && isRequired { record["must"] = .list([Self.names[1]]) }
      if node == 0 && !isRequired { record["may"] = .text(Self.names[1]) }
      if let target = back[node] { record["may"] = .text(Self.names[target]) }
      try transaction.insert(record)
    }
    try write((0..<3).filter { made[$0] == 0 }.map { [$0] }, on: a, insert)
    for (number, changed) in zip([1, 2], changed) {
      let new = (0..<3).filter { made[$0] == number }
      try write([new + changed], on: a) { node, transaction in
        if new.contains(node) { return try insert(node, transaction) }
        _ = try transaction.update(
          RecordID(type: "Node", id: Self.names[node]), fields: ["name": .text("change \(number)")])
      }
    }
    for _ in 0..<5 where try !a.store.outboxEntries().isEmpty {
      #expect(await a.store.sync().rejected.isEmpty, name)
    }
    #expect(try a.store.outboxEntries().isEmpty, name)
    #expect(try await world.serverRecords().count == 3, name)
  }

  /// Writes each group in a transaction of its own, and each single record alone.
  private func write(
    _ units: [[Int]], on device: SimulatedDevice, _ body: (Int, WriteTransaction) throws -> Void
  ) throws {
    for unit in units {
      try device.store.write(unit.count > 1 ? .atomic : .independent) { transaction in
        for node in unit { try body(node, transaction) }
      }
    }
  }

  private func disturb(_ device: SimulatedDevice, _ weather: Weather) async {
    switch weather {
    case .calm: return
    case .lostRequest: device.remote.plan(.lostRequest, on: .operations, times: 1)
    case .lostAnswer: device.remote.plan(.lostAnswer, on: .operations, times: 1)
    case .failed:
      device.remote.plan(forExchange: { $0.operations.isEmpty ? .none : .status(500, retryAfter: nil) })
    case .refused:
      device.remote.plan(forExchange: { request in
        request.operations.contains { $0.record.id == "A" } ? .status(413, retryAfter: nil) : .none
      })
    case .failedThenRefused:
      let tries = Calls()
      device.remote.plan(forExchange: { request in
        guard request.operations.contains(where: { $0.record.id == "A" }) else { return .none }
        return .status(tries.add() == 1 ? 500 : 413, retryAfter: nil)
      })
    }
    await device.store.sync()
    device.remote.setScript { .none }
  }
}
