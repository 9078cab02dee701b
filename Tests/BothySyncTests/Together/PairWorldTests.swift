import BothyStore
import BothySync
import BothyTesting
import Testing

/// All pairs of edits of one record, single and in transactions, with and without other changes beneath them.
///
/// The server ends with the record as the second edit left it, however the two come to be sent.
@Suite("Every pair of edits of a record", .faultsStrike, .timeLimit(.minutes(10)))
struct PairWorldTests {
  /// One edit. Each creates the record if it isn't there.
  enum Act: CaseIterable {
    case rename, count, delete

    func apply(_ number: Int, in transaction: WriteTransaction) throws {
      guard try transaction.exists(.note()) else {
        var note = Note(id: "T1", "made \(number)")
        note.score = number
        return try transaction.insert(note)
      }
      switch self {
      case .rename: try transaction.update(Note.self, id: "T1") { ($0.title, $0.note) = ("\(number)", nil) }
      case .count: try transaction.update(Note.self, id: "T1") { $0.score += number }
      case .delete: try transaction.delete(.note())
      }
    }
  }

  /// The transactions of the two edits.
  enum Place: CaseIterable {
    case single, singleThenOwn, ownThenSingle, own, shared

    /// The greatest number of operations that both become if nothing is sent between them.
    var limit: Int { self == .single || self == .shared ? 1 : 2 }
  }

  enum Weather: CaseIterable { case calm, lostRequest, lostAnswer, restart }

  private struct Case {
    var first: Act
    var second: Act
    var place: Place
    var exists: Bool
    var isOnTop: Bool
  }

  private static var cases: [Case] {
    var cases: [Case] = []
    for first in Act.allCases {
      for second in Act.allCases {
        for place in Place.allCases {
          for (exists, isOnTop) in [(true, true), (true, false), (false, true), (false, false)] {
            cases.append(
              Case(first: first, second: second, place: place, exists: exists, isOnTop: isOnTop))
          }
        }
      }
    }
    return cases
  }

  @Test("The server has a record as the second of two edits left it", arguments: Weather.allCases)
  func pairs(_ weather: Weather) async throws {
    for item in Self.cases where weather == .calm || item.place != .shared { try await run(item, weather) }
  }

  private func run(_ item: Case, _ weather: Weather) async throws {
    let pair = try await Pair.sharing(item.exists ? ["T1", "T2"] : ["T2"], policy: .fieldByField)
    if item.isOnTop { try write([(.count, 1)], isTogether: true, on: pair.a) }
    let name: Comment = "\(item) \(weather)"
    if item.place == .shared {
      try write([(item.first, 10), (item.second, 100)], isTogether: true, on: pair.a)
    } else {
      try write([(item.first, 10)], isTogether: [.ownThenSingle, .own].contains(item.place), on: pair.a)
      try await disturb(pair, weather)
      try write([(item.second, 100)], isTogether: [.singleThenOwn, .own].contains(item.place), on: pair.a)
    }
    let written = try pair.a.note()
    #expect(try await pair.isEven(), name)
    let server = try await pair.server("T1")
    #expect(server?["title"]?.stringValue == written?.title, name)
    #expect(server?["score"]?.intValue.map(Int.init) == written?.score, name)
    #expect(server?["note"] == nil && (server == nil) == (written == nil), name)
    #expect(try pair.a.store.journal.entries(losing: true).isEmpty, name)
    guard weather == .calm else { return }
    let sent = Set(pair.a.operations.filter { $0.record == .note() }.map(\.id))
    #expect(sent.count <= item.place.limit + (item.isOnTop ? 1 : 0), name)
  }

  /// Makes edits in one transaction, with another record if they belong together.
  private func write(_ acts: [(Act, Int)], isTogether: Bool, on device: SimulatedDevice) throws {
    try device.store.write(isTogether ? .atomic : .independent) { transaction in
      for (act, number) in acts { try act.apply(number, in: transaction) }
      if isTogether { try transaction.update(Note.self, id: "T2") { $0.score += 1 } }
    }
  }

  private func disturb(_ pair: Pair, _ weather: Weather) async throws {
    switch weather {
    case .calm: return
    case .restart: try pair.a.restart()
    case .lostRequest, .lostAnswer:
      pair.a.remote.plan(weather == .lostAnswer ? .lostAnswer : .lostRequest, on: .operations, times: 1)
      await pair.a.store.sync()
    }
  }
}
