import BothyStore
import BothySync
import Testing

@Suite("Wide histories of transactions and awaited saves that failed once", .timeLimit(.minutes(5)))
struct WidePinnedTransactionTests {
  @Test("An edit on a rejected transaction is compared with its rebased beginning")
  func rebasedEdit() async throws {
    let found = try await WideRunner.problems(
      seed: 9431,
      [
        .init(
          policy: .fieldByField, refusals: .discard, batch: 4, page: 2, skew: 0, scopes: ["Sheet", "box/1"]),
        .init(policy: .fieldByField, refusals: .quarantine, batch: 6, page: 5, skew: 79369542, scopes: [""]),
        .init(policy: .fieldByField, refusals: .discard, batch: 3, page: 3, skew: 10632793, scopes: [""]),
      ],
      [
        .write(1, .init(what: .note, record: 1, place: 1)),
        .atomic(
          1,
          [
            .init(what: .note, record: 1, place: 1), .init(what: .note, record: 3, place: 2),
            .init(what: .count, record: 0, place: 2),
          ]),
        .write(1, .init(what: .create, record: 1, place: 1)),
        .refuse(true),
        .sync(1, .both, [.duplicated, .busy, .none], during: nil),
        .write(0, .init(what: .note, record: 1, place: 2)),
        .sync(0, .both, [], during: nil),
        .sync(1, .both, [], during: nil),
      ])
    #expect(found == [])
  }

  @Test("A change on top of two changes in doubt is sent once")
  func sentOnce() async throws {
    let found = try await WideRunner.problems(
      seed: 13729,
      [
        .init(policy: .changedFields, refusals: .quarantine, batch: 6, page: 3, skew: 0, scopes: [""]),
        .init(policy: .throwing, refusals: .discard, batch: 1, page: 2, skew: 31658966, scopes: [""]),
        .init(policy: .changedFields, refusals: .keep, batch: 6, page: 1, skew: 36927854, scopes: [""]),
      ],
      [
        .write(0, .init(what: .count, record: 3, place: 1)),
        .atomic(0, [.init(what: .create, record: 3, place: 2), .init(what: .note, record: 0, place: 0)]),
        .online(0, .init(what: .create, record: 4, place: 1), only: false, []),
        .write(0, .init(what: .create, record: 3, place: 1)),
        .sync(0, .both, [.none, .lostRequest], during: nil),
        .epoch,
      ])
    #expect(found == [])
  }

  @Test("A record recreated within a rejected transaction joins it whole")
  func madeAgainWhole() async throws {
    let found = try await WideRunner.problems(
      seed: 15258,
      [
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 2, page: 5, skew: 0,
          scopes: ["Sheet", "box"]),
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 3, page: 6, skew: -82006517, scopes: [""]
        ),
        .init(
          policy: .remoteWins, refusals: .discard, batch: 1, page: 1, skew: -26081449, scopes: [""]),
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 5, page: 4, skew: -34908768, scopes: [""]
        ),
      ],
      [
        .write(1, .init(what: .remake, record: 4, place: 0)),
        .refuse(true),
        .atomic(
          1,
          [
            .init(what: .note, record: 4, place: 1), .init(what: .title, record: 5, place: 2),
            .init(what: .move, record: 4, place: 1),
          ]),
        .sync(1, .both, [], during: nil),
        .sync(1, .both, [], during: .init(what: .remake, record: 5, place: 1)),
      ])
    #expect(found == [])
  }

  @Test("A record recreated in a rejected transaction deletes nothing of others")
  func madeAgainBesideOthers() async throws {
    let found = try await WideRunner.problems(
      seed: 29292,
      [
        .init(policy: .localWins, refusals: .discard, batch: 4, page: 6, skew: 0, scopes: [""]),
        .init(
          policy: .changedFields, refusals: .quarantine, batch: 5, page: 2, skew: 4702040, scopes: ["Sheet"]),
        .init(policy: .changedFields, refusals: .quarantine, batch: 5, page: 5, skew: 9403014, scopes: [""]),
      ],
      [
        .atomic(
          0,
          [
            .init(what: .remake, record: 4, place: 1), .init(what: .title, record: 0, place: 2),
            .init(what: .note, record: 4, place: 2),
          ]),
        .atomic(1, [.init(what: .count, record: 2, place: 1), .init(what: .create, record: 4, place: 2)]),
        .online(0, .init(what: .own, record: 0, place: 1), only: false, []),
        .refuse(true),
        .sync(1, .both, [], during: nil),
        .sync(1, .both, [], during: .init(what: .remake, record: 4, place: 0)),
      ])
    #expect(found == [])
  }

  @Test("A value read since isn't an edit of a save without a response")
  func readSince() async throws {
    let found = try await WideRunner.problems(
      seed: 13851,
      [
        .init(policy: .fieldByField, refusals: .discard, batch: 3, page: 1, skew: 0, scopes: [""]),
        .init(policy: .fieldByField, refusals: .discard, batch: 6, page: 1, skew: -75338709, scopes: [""]),
        .init(
          policy: .fieldByField, refusals: .discard, batch: 2, page: 4, skew: -71866571,
          scopes: ["Sheet", "box"]),
      ],
      [
        .online(2, .init(what: .late, record: 4, place: 0), only: true, [.lostRequest, .broken, .none]),
        .write(1, .init(what: .title, record: 4, place: 1)),
        .sync(1, .both, [], during: nil),
        .sync(2, .both, [], during: nil),
        .online(2, .init(what: .pen, record: 4, place: 2), only: true, []),
      ])
    #expect(found == [])
  }

  @Test("A value read since clears nothing that a save without a response had set")
  func readSinceClears() async throws {
    let found = try await WideRunner.problems(
      seed: 29439,
      [
        .init(policy: .remoteWins, refusals: .discard, batch: 3, page: 5, skew: 0, scopes: [""]),
        .init(policy: .localWins, refusals: .discard, batch: 6, page: 5, skew: -81864912, scopes: [""]),
        .init(
          policy: .throwing, refusals: .keep, batch: 6, page: 6, skew: 23615351, scopes: ["Sheet", "box/1"]),
        .init(policy: .localWins, refusals: .quarantine, batch: 2, page: 2, skew: -83100, scopes: [""]),
      ],
      [
        .online(3, .init(what: .note, record: 4, place: 2), only: false, []),
        .online(2, .init(what: .own, record: 4, place: 1), only: true, [.none, .lostAnswer, .none]),
        .online(2, .init(what: .title, record: 4, place: 2), only: false, []),
      ])
    #expect(found == [])
  }

  @Test("A record deleted in a transaction, recreated and accepted as synced is the server's")
  func acceptedMadeAgain() async throws {
    let found = try await WideRunner.problems(
      seed: 18938,
      [
        .init(policy: .fieldByField, refusals: .quarantine, batch: 1, page: 1, skew: 0, scopes: ["box/1"]),
        .init(
          policy: .fieldByField, refusals: .quarantine, batch: 4, page: 3, skew: -84_320_901, scopes: [""]),
        .init(policy: .fieldByField, refusals: .discard, batch: 1, page: 1, skew: -75_827_877, scopes: [""]),
      ],
      [
        .write(0, .init(what: .late, record: 4, place: 2)),
        .online(0, .init(what: .create, record: 5, place: 1), only: false, []),
        .sync(0, .both, [], during: nil),
        .atomic(0, [.init(what: .delete, record: 4, place: 1), .init(what: .late, record: 5, place: 2)]),
        .write(0, .init(what: .count, record: 4, place: 0)),
        .decide(0, 4, .keepLocal),
      ])
    #expect(found == [])
  }

  @Test("An upload is decided although a transaction waits for an operation in doubt")
  func uploadBesideDoubt() async throws {
    let found = try await WideRunner.problems(
      seed: 444,
      [
        .init(policy: .localWins, refusals: .quarantine, batch: 6, page: 1, scopes: ["box"]),
        .init(
          policy: .changedFields, refusals: .quarantine, batch: 5, page: 6, skew: 35_659_163, scopes: [""]),
        .init(policy: .remoteWins, refusals: .discard, batch: 5, page: 4, skew: 1_890_709, scopes: [""]),
      ],
      [
        .sync(2, .both, [], during: nil),
        .write(2, .init(what: .title, record: 4, place: 0)),
        .sync(2, .both, [.lostAnswer, .busy, .lostAnswer], during: nil),
        .atomic(
          2,
          [
            .init(what: .pen, record: 4, place: 0), .init(what: .count, record: 2, place: 2),
            .init(what: .count, record: 0, place: 0),
          ]),
        .adopt(2, .uploadMine, []),
      ])
    #expect(found == [])
  }

  @Test("An upload is decided although a transaction has a conflict")
  func uploadBesideConflict() async throws {
    let found = try await WideRunner.problems(
      seed: 418,
      [
        .init(policy: .latestWins, refusals: .discard, batch: 1, page: 3, scopes: ["box"]),
        .init(policy: .latestWins, refusals: .discard, batch: 5, page: 2, skew: 65_922_555, scopes: [""]),
        .init(policy: .latestWins, refusals: .discard, batch: 5, page: 5, skew: -26_654_669, scopes: [""]),
        .init(policy: .latestWins, batch: 2, page: 4, skew: 16_476_592, scopes: [""]),
      ],
      [
        .sync(3, .both, [], during: nil),
        .online(2, .init(what: .own, record: 4, place: 0), only: false, []),
        .atomic(
          3,
          [
            .init(what: .own, record: 3, place: 2), .init(what: .count, record: 2, place: 2),
            .init(what: .note, record: 4, place: 0),
          ]),
        .adopt(3, .keepApart, []),
        .sync(3, .both, [.none, .lostRequest, .late], during: nil),
        .adopt(3, .uploadMine, []),
      ])
    #expect(found == [])
  }

  @Test("A restored deletion deletes no record that another device made since")
  func restoredDeletion() async throws {
    let found = try await WideRunner.problems(
      seed: 994,
      [
        .init(policy: .remoteWins, refusals: .discard, batch: 1, page: 4, scopes: [""]),
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 4, page: 4, skew: -47_631_919,
          scopes: ["Sheet", "box/1"]),
      ],
      [
        .atomic(0, [.init(what: .note, record: 0, place: 1)]),
        .sync(0, .pull, [], during: .init(what: .delete, record: 0, place: 0)),
        .decide(0, 4, .removeLocal),
        .write(1, .init(what: .clear, record: 0, place: 1)),
        .sync(1, .both, [], during: nil),
        .restore(0, 57),
      ])
    #expect(found == [])
  }
}
