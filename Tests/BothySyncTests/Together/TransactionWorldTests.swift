import BothyStore
import BothySync
import BothyTesting
import Testing

/// All short sequences of transactions on two records.
///
/// Each transaction is sent as one, and the server ends with the last written state.
@Suite("Every short sequence of transactions", .faultsStrike, .timeLimit(.minutes(10)))
struct TransactionWorldTests {
  /// One transaction. Deleting a record that doesn't exist recreates it.
  enum Act: Int, CaseIterable {
    case edit, delete, editBoth, deleteAndEdit, editOther

    var isTogether: Bool { self == .editBoth || self == .deleteAndEdit }

    func apply(to device: SimulatedDevice, _ number: Int) throws {
      func edit(_ id: String, _ transaction: WriteTransaction) throws {
        let id = RecordID(type: "Note", id: id)
        if try transaction.exists(id) {
          try transaction.update(Note.self, id: id.id) { $0.title = "\(number)" }
        } else {
          try transaction.insert(Note(id: id.id, "\(number)"))
        }
      }
      func delete(_ id: String, _ transaction: WriteTransaction) throws {
        if try transaction.exists(RecordID(type: "Note", id: id)) {
          try transaction.delete(Note.self, id: id)
        } else {
          try transaction.insert(Note(id: id, "\(number)"))
        }
      }
      try device.store.write(isTogether ? .atomic : .independent) { transaction in
        switch self {
        case .edit: try edit("T1", transaction)
        case .delete: try delete("T1", transaction)
        case .editBoth:
          try edit("T1", transaction)
          try edit("T2", transaction)
        case .deleteAndEdit:
          try delete("T1", transaction)
          try edit("T2", transaction)
        case .editOther: try edit("T2", transaction)
        }
      }
    }
  }

  /// The disturbance between the transactions and the server's response.
  enum Weather: CaseIterable { case calm, lostAnswer, lostRequest, restart, small }

  @Test("Sequences of up to three transactions end as they were written", arguments: Weather.allCases)
  func sequences(_ weather: Weather) async throws {
    var sequences: [[Act]] = [[]]
    for _ in 1...3 {
      sequences = sequences.flatMap { start in Act.allCases.map { start + [$0] } }
      for sequence in sequences { try await run(sequence, weather) }
    }
  }

  private func run(_ sequence: [Act], _ weather: Weather) async throws {
    let pair = try await Pair.sharing(["T1", "T2"]) { $0.batchSize = weather == .small ? 3 : 500 }
    for (number, act) in sequence.enumerated() { try act.apply(to: pair.a, number) }
    let written = try pair.a.noteTitles()
    let name: Comment = "\(sequence) \(weather)"
    switch weather {
    case .calm, .small: break
    case .lostAnswer, .lostRequest:
      pair.a.remote.plan(weather == .lostAnswer ? .lostAnswer : .lostRequest, times: 1)
      await pair.a.store.sync()
    case .restart: try pair.a.restart()
    }
    #expect(try await pair.isEven(), name)
    let records = try await pair.world.serverRecords()
    let titles = try records.map {
      "\($0.key.id) \(try $0.value.fields.members()["title"]?.stringValue ?? "")"
    }
    #expect(titles.sorted() == written, name)
    let groups = Set(pair.a.operations.compactMap { $0.group?.id })
    #expect(groups.count == sequence.count(where: \.isTogether), name)
    #expect(pair.a.operations.allSatisfy { $0.group.map { $0.size == 2 } ?? true }, name)
  }
}

extension SimulatedDevice {
  fileprivate func noteTitles() throws -> [String] {
    try store.store.fetch(RecordQuery<Note>()).map { "\($0.id) \($0.title)" }.sorted()
  }
}
