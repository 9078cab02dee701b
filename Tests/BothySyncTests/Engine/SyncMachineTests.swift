import BothySync
import Testing

/// Every state with every event, the action, and whether a request then starts a sync run.
@Suite("The machine that decides when to sync", .timeLimit(.minutes(5)))
struct SyncMachineTests {
  enum Start: String, CaseIterable, Sendable {
    case stopped, idle, passing, waiting

    var events: [SyncMachine.Event] {
      switch self {
      case .stopped: []
      case .idle: [.started(hasWork: false)]
      case .passing: [.started(hasWork: true)]
      case .waiting: [.started(hasWork: true), .failed]
      }
    }
  }

  struct Row: Sendable {
    var event: SyncMachine.Event
    /// The action, and then whether a request starts a run, by state in the order of `Start`.
    var cells: [(SyncMachine.Action, Bool)]

    init(_ event: SyncMachine.Event, _ cells: (SyncMachine.Action, Bool)...) {
      self.event = event
      self.cells = cells
    }
  }

  static let go = SyncMachine.Action.startRun
  static let no = SyncMachine.Action.none
  static let wait = SyncMachine.Action.wait

  static let table: [Row] = [
    // The cells are of stopped, idle, passing and waiting.
    Row(.started(hasWork: false), (no, true), (no, true), (no, false), (no, false)),
    Row(.started(hasWork: true), (go, false), (no, true), (no, false), (no, false)),
    Row(.asked, (no, false), (go, false), (no, false), (no, false)),
    Row(.finished, (no, false), (no, true), (no, true), (no, false)),
    Row(.failed, (no, false), (no, true), (wait, false), (no, false)),
    Row(.waited, (no, false), (no, true), (no, false), (go, false)),
    Row(.paused, (no, false), (no, true), (no, true), (no, true)),
  ]

  @Test(
    "Each event in each state leads to the table's action and state", arguments: Start.allCases)
  func cells(start: Start) throws {
    let column = try #require(Start.allCases.firstIndex(of: start))
    for row in Self.table {
      var machine = SyncMachine()
      for event in start.events { _ = machine.handle(event) }
      let action = machine.handle(row.event)
      let startsWhenAsked = machine.handle(.asked) == .startRun
      #expect(action == row.cells[column].0, "\(start) + \(row.event)")
      #expect(startsWhenAsked == row.cells[column].1, "\(start) + \(row.event), then asked")
    }
  }
}
