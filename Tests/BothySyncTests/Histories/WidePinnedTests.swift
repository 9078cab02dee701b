import BothyStore
import BothySync
import Testing

/// Histories that wide seeds found and shrank, kept unchanged.
@Suite("Wide histories that failed once", .timeLimit(.minutes(5)))
struct WidePinnedTests {
  private func act(_ what: WideHistory.What, place: Int) -> WideHistory.Act {
    .init(what: what, record: 0, place: place)
  }

  @Test(
    "A container that gave way in a merge is reported like a text",
    arguments: [WideHistory.Policy.changedFields, .throwing, .fieldByField])
  func place(policy: WideHistory.Policy) async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .fieldByField), .init(policy: policy)],
      [
        .write(0, act(.title, place: 2)), .write(1, act(.title, place: 0)), .write(1, act(.move, place: 1)),
        .sync(0, .both, [], during: nil), .sync(1, .both, [], during: nil),
      ])
    #expect(found == [])
  }

  @Test("A deleted record whose insert is in doubt is deleted on the server too")
  func doubt() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .fieldByField), .init(policy: .fieldByField)],
      [
        .sync(0, .both, [], during: nil), .write(0, act(.create, place: 0)),
        .sync(0, .push, [.lostAnswer], during: nil), .write(0, act(.delete, place: 0)),
      ])
    #expect(found == [])
  }

  @Test("A record deleted and recreated in one transaction keeps its new content")
  func madeAgain() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .fieldByField), .init(policy: .fieldByField)],
      [
        .write(1, act(.create, place: 0)), .sync(1, .both, [], during: nil),
        .write(0, act(.create, place: 0)),
        .sync(0, .pull, [], during: nil), .write(0, act(.remake, place: 0)),
      ])
    #expect(found == [])
  }

  @Test("A device that pulled an empty space and wrote online follows its restore")
  func emptyThenRestored() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .localWins), .init(policy: .localWins)],
      [
        .sync(1, .both, [], during: nil),
        .online(1, .init(what: .create, record: 2, place: 2), only: false, []),
        .write(1, .init(what: .create, record: 3, place: 0)), .epoch,
      ])
    #expect(found == [])
  }

  @Test("An online save undone with pending work reports its own content")
  func undoneOnline() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .latestWins, refusals: .discard, batch: 3, page: 4), .init(policy: .fieldByField)],
      [
        .refuse(true),
        .atomic(
          0, [.init(what: .own, record: 3, place: 1), .init(what: .note, record: 0, place: 0)]),
        .write(0, .init(what: .note, record: 3, place: 2)),
        .online(0, .init(what: .title, record: 0, place: 0), only: false, []),
      ])
    #expect(found == [])
  }

  @Test("A move that an online save loses to another device is reported")
  func moveLostOnline() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .fieldByField), .init(policy: .latestWins, batch: 1)],
      [
        .sync(0, .both, [], during: nil), .write(0, act(.title, place: 2)),
        .online(1, act(.title, place: 1), only: false, []), .write(0, act(.title, place: 1)),
        .sync(0, .both, [], during: nil), .online(1, act(.move, place: 0), only: false, []),
      ])
    #expect(found == [])
  }

  @Test("Deleting a record recreated where it wasn't kept spares the server's record")
  func deletedUnkept() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .fieldByField)],
      [
        .online(0, act(.late, place: 1), only: true, []), .write(0, act(.remake, place: 1)),
        .write(0, act(.delete, place: 1)),
      ])
    #expect(found == [])
  }

  @Test("A transaction with a record that another device created too is sent")
  func togetherTwice() async throws {
    let found = try await WideRunner.problems(
      seed: 1335,
      [
        .init(policy: .throwing), .init(policy: .throwing, batch: 4, page: 5, scopes: ["box/1"]),
        .init(policy: .throwing, batch: 5, page: 6),
      ],
      [
        .write(1, .init(what: .note, record: 5, place: 1)),
        .atomic(
          2,
          [
            .init(what: .late, record: 5, place: 2), .init(what: .title, record: 5, place: 0),
            .init(what: .count, record: 2, place: 2),
          ]),
        .online(2, .init(what: .note, record: 5, place: 0), only: false, [.late, .lostAnswer]),
        .write(2, .init(what: .delete, record: 2, place: 2)),
      ])
    #expect(found == [])
  }

  @Test("A field that another device cleared after a restore returns and is reported")
  func clearedAfterRestore() async throws {
    let found = try await WideRunner.problems(
      [.init(policy: .localWins), .init(policy: .fieldByField, scopes: ["Sheet"])],
      [
        .write(1, act(.note, place: 0)), .write(0, act(.own, place: 2)), .sync(1, .both, [], during: nil),
        .epoch, .write(1, act(.note, place: 1)),
      ])
    #expect(found == [])
  }

  @Test("A record changing between pages of a new history, beside a transaction, isn't lost")
  func changedBetweenPages() async throws {
    let found = try await WideRunner.problems(
      seed: 3492,
      [
        .init(policy: .throwing, refusals: .discard, batch: 3, page: 2),
        .init(policy: .throwing, batch: 1, page: 2),
        .init(policy: .throwing, refusals: .discard, batch: 5, page: 6),
      ],
      [
        .sync(1, .both, [.none], during: .init(what: .late, record: 1, place: 0)),
        .online(0, .init(what: .own, record: 2, place: 1), only: false, []), .epoch,
        .online(2, .init(what: .count, record: 0, place: 1), only: true, []),
        .sync(1, .both, [.none, .late], during: .init(what: .title, record: 3, place: 1)),
        .atomic(
          1, [.init(what: .clear, record: 2, place: 1), .init(what: .title, record: 1, place: 2)]),
        .write(0, .init(what: .title, record: 1, place: 1)),
      ])
    #expect(found == [])
  }

  @Test("A transaction on an edit is recognized after a crash that lost both responses")
  func crashBetween() async throws {
    let found = try await WideRunner.problems(
      seed: 24,
      [
        .init(policy: .localWins, refusals: .keep, batch: 5, page: 3, skew: 0, scopes: ["box"]),
        .init(policy: .localWins, refusals: .keep, batch: 3, page: 2, skew: 20_482_626, scopes: [""]),
        .init(
          policy: .localWins, refusals: .quarantine, batch: 4, page: 6, skew: 75_871_095, scopes: [""]),
        .init(policy: .localWins, refusals: .keep, batch: 2, page: 1, skew: -33_484_388, scopes: [""]),
      ],
      [
        .sync(2, .both, [], during: nil),
        .write(2, .init(what: .remake, record: 4, place: 2)),
        .atomic(2, [.init(what: .move, record: 4, place: 1), .init(what: .own, record: 3, place: 0)]),
        .killUntold(2, at: 8, [.none, .none]),
      ])
    #expect(found == [])
  }

  @Test("A value from an unanswered save reverts nothing that the response brought")
  func keptWithoutAnswer() async throws {
    let found = try await WideRunner.problems(
      seed: 1245,
      [
        .init(policy: .throwing, batch: 1, page: 4),
        .init(policy: .throwing, refusals: .quarantine, batch: 4, page: 4, skew: 20_518_183),
        .init(policy: .throwing, refusals: .quarantine, batch: 5, page: 5, skew: 66_980_946),
      ],
      [
        .online(2, .init(what: .pen, record: 5, place: 0), only: false, []),
        .online(1, .init(what: .create, record: 5, place: 1), only: true, [.lostAnswer, .broken, .late]),
        .online(1, .init(what: .own, record: 5, place: 2), only: false, [.none, .late, .lostRequest]),
      ])
    #expect(found == [])
  }

  @Test("Changes that an earlier save brings meanwhile don't belong to the next save")
  func broughtMeanwhile() async throws {
    let found = try await WideRunner.problems(
      seed: 2817,
      [
        .init(policy: .fieldByField, refusals: .discard, batch: 4, page: 3, scopes: ["box"]),
        .init(policy: .fieldByField, batch: 3, page: 2, skew: 10_661_423),
        .init(policy: .fieldByField, batch: 2, page: 1, skew: -18_229_266),
      ],
      [
        .sync(0, .both, [], during: nil), .write(0, .init(what: .note, record: 5, place: 0)),
        .sync(0, .both, [], during: nil), .write(1, .init(what: .note, record: 5, place: 2)),
        .sync(2, .both, [], during: nil),
        .online(2, .init(what: .move, record: 5, place: 1), only: true, [.late]),
        .sync(1, .both, [], during: nil),
        .online(2, .init(what: .own, record: 5, place: 0), only: false, []),
      ])
    #expect(found == [])
  }

  @Test("A recreated record replaces nothing unseen after a deletion that gave way")
  func madeAgainUnseen() async throws {
    let found = try await WideRunner.problems(
      seed: 1423,
      [
        .init(policy: .fieldByField, refusals: .discard, batch: 5, page: 2),
        .init(policy: .fieldByField, batch: 2, page: 2, skew: 35_971_384),
        .init(policy: .fieldByField, refusals: .quarantine, batch: 2, page: 2, skew: 78_574_488),
      ],
      [
        .write(2, .init(what: .title, record: 2, place: 2)),
        .online(0, .init(what: .pen, record: 2, place: 0), only: false, []),
        .atomic(
          2,
          [
            .init(what: .create, record: 4, place: 1), .init(what: .create, record: 3, place: 1),
            .init(what: .delete, record: 2, place: 1),
          ]),
        .write(2, .init(what: .own, record: 2, place: 2)),
      ])
    #expect(found == [])
  }

  @Test("A draft beneath a transaction counts as a draft of the record")
  func draftBeneath() async throws {
    let found = try await WideRunner.problems(
      seed: 2610,
      [
        .init(policy: .throwing, batch: 3, page: 4),
        .init(policy: .fieldByField, batch: 2, page: 3, skew: 85_669_804, scopes: ["Sheet"]),
      ],
      [
        .atomic(
          1, [.init(what: .title, record: 4, place: 1), .init(what: .pen, record: 5, place: 1)]),
        .draft(1, .init(what: .remake, record: 4, place: 2)),
        .atomic(1, [.init(what: .create, record: 4, place: 1), .init(what: .own, record: 2, place: 0)]),
      ])
    #expect(found == [])
  }

  @Test("A pending edit of a record elsewhere on a restored server reverts no field")
  func movedMeanwhile() async throws {
    let found = try await WideRunner.problems(
      [
        .init(policy: .latestWins), .init(policy: .throwing, page: 2, scopes: ["Sheet", "box"]),
        .init(policy: .fieldByField), .init(policy: .throwing),
      ],
      [
        .write(3, act(.late, place: 0)), .sync(3, .both, [], during: nil), .refresh(1, []),
        .write(0, act(.create, place: 1)), .epoch, .write(1, act(.create, place: 0)),
      ])
    #expect(found == [])
  }

  @Test("A new record saved after an unanswered one writes over nothing unseen")
  func newAfterUnanswered() async throws {
    let found = try await WideRunner.problems(
      seed: 4281,
      [
        .init(policy: .fieldByField, refusals: .discard, batch: 4, page: 5, scopes: [""]),
        .init(
          policy: .fieldByField, refusals: .discard, batch: 3, page: 4, skew: 24_564_337,
          scopes: ["Sheet", "box/1"]),
        .init(
          policy: .fieldByField, refusals: .quarantine, batch: 1, page: 2, skew: -85_169_042, scopes: [""]),
        .init(
          policy: .fieldByField, refusals: .quarantine, batch: 1, page: 6, skew: 25_807_582, scopes: [""]),
      ],
      [
        .sync(2, .both, [], during: act(.title, place: 2)),
        .online(1, act(.note, place: 0), only: true, [.late, .duplicated, .busy]),
        .online(1, act(.note, place: 1), only: false, []),
      ])
    #expect(found == [])
  }

  @Test("Clearing an own file that was never sent is no clearing of another's")
  func clearedBeforeItWasSent() async throws {
    let found = try await WideRunner.problems(
      seed: 5127,
      [
        .init(policy: .remoteWins, refusals: .quarantine, batch: 1, page: 6),
        .init(policy: .changedFields, refusals: .discard, batch: 6, page: 6, scopes: ["Sheet", "box"]),
        .init(policy: .changedFields, refusals: .discard, batch: 2, page: 3, skew: -70_449_103),
      ],
      [
        .beside(2, act(.attach, place: 0), syncs: true, [.lostRequest, .late, .none]),
        .online(0, act(.attach, place: 0), only: false, []),
        .write(2, act(.detach, place: 0)),
      ])
    #expect(found == [])
  }
}
