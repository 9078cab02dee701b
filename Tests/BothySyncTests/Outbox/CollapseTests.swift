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
  func cells() throws {
    #expect(Self.table.count == 12)
    for row in Self.table {
      for (index, flags) in [(false, false), (true, false), (false, true), (true, true)].enumerated() {
        let last = row.pending.map { ChangeCoalescing.Last($0, wasSent: flags.0, hasBase: flags.1) }
        let result = try ChangeCoalescing(last, then: row.change)
        #expect(
          result == row.cells[index],
          "\(String(describing: row.pending)) + \(row.change), sent and base: \(flags)")
      }
    }
  }

  /// A last change, and a new one beside it.
  private struct Meeting {
    var last: ChangeCoalescing.Last
    var change: BothySync.ChangeKind
    var group: String?
    var isStale: Bool
    var isHere: Bool
    var isRejected: Bool

    var result: ChangeCoalescing {
      ChangeCoalescing(
        last, then: change, in: group, isStale: isStale, isHere: isHere, joins: { _ in isRejected })
    }
  }

  private static let kinds: [BothySync.ChangeKind] = [.insert, .update, .delete]
  private static let names: [String?] = [nil, "g", "h"]

  /// Every last change, single, in the transaction g, and sent with g or h.
  private static var lasts: [ChangeCoalescing.Last] {
    var lasts: [ChangeCoalescing.Last] = []
    for kind in kinds {
      for bits in 0..<8 {
        for (number, group) in names.enumerated() {
          for sent in names where number < 2 && (bits & 1 != 0 || sent == nil) {
            lasts.append(
              ChangeCoalescing.Last(
                kind, wasSent: bits & 1 != 0, hasBase: bits & 2 != 0, isLater: bits & 4 != 0, group: group,
                sentGroup: sent))
          }
        }
      }
    }
    return lasts
  }

  /// Every meeting of two changes, in and outside of the transactions g and h.
  private static var meetings: [Meeting] {
    var meetings: [Meeting] = []
    for last in lasts {
      for change in kinds {
        for group in names {
          for bits in 0..<8 {
            meetings.append(
              Meeting(
                last: last, change: change, group: group, isStale: bits & 1 != 0, isHere: bits & 2 != 0,
                isRejected: bits & 4 != 0))
          }
        }
      }
    }
    return meetings
  }

  @Test("A change joins only what is sent with it")
  func joined() {
    for meeting in Self.meetings {
      let (last, comment) = (meeting.last, Comment("\(meeting)"))
      let tie = last.group ?? last.sentGroup
      switch meeting.result {
      case .begin: Issue.record(comment)
      case .stack(let kind):
        #expect(kind == meeting.change, comment)
        let isPlain = tie == nil && meeting.group == nil
        #expect(!isPlain || last.wasSent && (last.isLater || meeting.isStale), comment)
      case .become, .annihilate:
        #expect(!last.wasSent || !last.isLater && !meeting.isStale, comment)
        let isCure = meeting.group == nil && last.group != nil && !last.isLater && meeting.isRejected
        #expect(tie == meeting.group || isCure, comment)
      }
    }
  }

  @Test("A joined pair has the effect of both changes")
  func effect() {
    for meeting in Self.meetings {
      let (last, comment) = (meeting.last, Comment("\(meeting)"))
      switch meeting.result {
      case .begin, .stack: continue
      case .annihilate:
        #expect(last.kind == .insert && meeting.change == .delete, comment)
        #expect(!last.wasSent && !meeting.isHere, comment)
      case .become(.delete):
        #expect(meeting.change == .delete && (last.kind != .insert || last.wasSent), comment)
      case .become(.insert):
        #expect(last.kind == .insert || last.kind == .delete && !last.hasBase, comment)
        #expect(meeting.change != .delete || meeting.isHere, comment)
      case .become(.update):
        #expect(meeting.change != .delete && (last.kind == .update || last.hasBase), comment)
      }
    }
  }
}
