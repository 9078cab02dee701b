import BothySync
import Testing

@Suite("Combining changes of one record into one entry", .timeLimit(.minutes(5)))
struct CollapseTests {
  struct Row: Sendable {
    var pending: BothySync.ChangeKind?
    var change: BothySync.ChangeKind
    /// By (was sent, has base): neither, sent only, base only, both.
    var cells: [ChangeCoalescing]
  }

  static let table: [Row] = [
    Row(pending: nil, change: .insert, cells: Array(repeating: .begin(.insert), count: 4)),
    Row(pending: nil, change: .update, cells: Array(repeating: .begin(.update), count: 4)),
    Row(pending: nil, change: .delete, cells: Array(repeating: .begin(.delete), count: 4)),
    Row(pending: .insert, change: .insert, cells: Array(repeating: .become(.insert), count: 4)),
    Row(pending: .insert, change: .update, cells: Array(repeating: .become(.insert), count: 4)),
    Row(
      pending: .insert, change: .delete,
      cells: [.annihilate, .become(.delete), .annihilate, .become(.delete)]),
    Row(pending: .update, change: .insert, cells: Array(repeating: .become(.update), count: 4)),
    Row(pending: .update, change: .update, cells: Array(repeating: .become(.update), count: 4)),
    Row(pending: .update, change: .delete, cells: Array(repeating: .become(.delete), count: 4)),
    Row(
      pending: .delete, change: .insert,
      cells: [.become(.insert), .become(.insert), .become(.update), .become(.update)]),
    Row(
      pending: .delete, change: .update,
      cells: [.become(.insert), .become(.insert), .become(.update), .become(.update)]),
    Row(pending: .delete, change: .delete, cells: Array(repeating: .become(.delete), count: 4)),
  ]

  /// Promises: X-3
  @Test("Every pending kind with every change gives the entry of the table")
  func cells() {
    #expect(Self.table.count == 12)
    for row in Self.table {
      for (index, flags) in [(false, false), (true, false), (false, true), (true, true)].enumerated() {
        let result = ChangeCoalescing(row.pending, wasSent: flags.0, hasBase: flags.1, then: row.change)
        #expect(
          result == row.cells[index],
          "\(String(describing: row.pending)) + \(row.change), sent and base: \(flags)")
      }
    }
  }
}
