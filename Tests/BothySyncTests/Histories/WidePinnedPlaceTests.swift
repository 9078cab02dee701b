import BothyStore
import BothySync
import Testing

@Suite("Wide histories of places and decisions that failed once", .timeLimit(.minutes(5)))
struct WidePinnedPlaceTests {
  @Test("An evicted record with a pending move is requested from its server container")
  func evictedMove() async throws {
    let found = try await WideRunner.problems(
      seed: 10874,
      [
        .init(policy: .fieldByField, refusals: .quarantine, batch: 2, page: 4, skew: 0, scopes: [""]),
        .init(policy: .fieldByField, refusals: .discard, batch: 3, page: 5, skew: 56346893, scopes: ["box"]),
        .init(policy: .fieldByField, refusals: .keep, batch: 4, page: 6, skew: -33354513, scopes: [""]),
        .init(
          policy: .fieldByField, refusals: .keep, batch: 2, page: 4, skew: 15058488,
          scopes: ["Sheet", "box/1"]),
      ],
      [
        .write(1, .init(what: .pen, record: 1, place: 1)),
        .sync(1, .both, [], during: nil),
        .sync(3, .both, [.duplicated, .duplicated, .none], during: nil),
        .write(3, .init(what: .move, record: 1, place: 2)),
        .decide(3, 1, .removeLocal),
      ])
    #expect(found == [])
  }

  @Test("A record that left and returned with the first page stays")
  func cameBack() async throws {
    let found = try await WideRunner.problems(
      seed: 12182,
      [
        .init(policy: .localWins, refusals: .keep, batch: 5, page: 5, skew: 0, scopes: [""]),
        .init(policy: .localWins, refusals: .discard, batch: 6, page: 6, skew: -14608429, scopes: ["Sheet"]),
        .init(policy: .localWins, refusals: .quarantine, batch: 4, page: 1, skew: 15237520, scopes: [""]),
      ],
      [
        .online(1, .init(what: .title, record: 5, place: 1), only: false, [.lostAnswer, .busy]),
        .live(1, 51),
        .write(2, .init(what: .title, record: 5, place: 0)),
        .sync(2, .both, [], during: nil),
      ])
    #expect(found == [])
  }

  @Test("A record accepted as synced doesn't belong to this device alone")
  func accepted() async throws {
    let found = try await WideRunner.problems(
      seed: 14898,
      [
        .init(policy: .fieldByField, refusals: .quarantine, batch: 1, page: 6, skew: 0, scopes: ["box"]),
        .init(policy: .fieldByField, refusals: .keep, batch: 2, page: 4, skew: 14637871, scopes: [""]),
        .init(policy: .fieldByField, refusals: .keep, batch: 1, page: 2, skew: 15599418, scopes: [""]),
      ],
      [
        .write(0, .init(what: .own, record: 5, place: 0)),
        .sync(0, .both, [], during: nil),
        .write(0, .init(what: .remake, record: 5, place: 0)),
        .decide(0, 0, .keepLocal),
      ])
    #expect(found == [])
  }

  @Test("A late change restores no record that has left")
  func lateChange() async throws {
    let found = try await WideRunner.problems(
      seed: 16928,
      [
        .init(policy: .fieldByField, refusals: .discard, batch: 1, page: 3, skew: 0, scopes: [""]),
        .init(policy: .fieldByField, refusals: .keep, batch: 6, page: 6, skew: 71778883, scopes: [""]),
        .init(policy: .fieldByField, refusals: .keep, batch: 6, page: 5, skew: -70308241, scopes: [""]),
        .init(policy: .fieldByField, refusals: .keep, batch: 4, page: 1, skew: -72652007, scopes: ["box"]),
      ],
      [
        .write(1, .init(what: .count, record: 1, place: 2)),
        .atomic(
          1,
          [
            .init(what: .count, record: 0, place: 0), .init(what: .pen, record: 4, place: 2),
            .init(what: .move, record: 1, place: 0),
          ]),
        .online(1, .init(what: .note, record: 1, place: 2), only: false, []),
        .sync(3, .both, [], during: nil),
        .live(3, 29),
      ])
    #expect(found == [])
  }

  @Test("An edit of content accepted as synced is compared with the server's")
  func editedAccepted() async throws {
    let found = try await WideRunner.problems(
      seed: 17073,
      [
        .init(policy: .remoteWins, refusals: .discard, batch: 6, page: 5, skew: 0, scopes: [""]),
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 5, page: 1, skew: -44751403, scopes: [""]
        ),
        .init(
          policy: .remoteWins, refusals: .quarantine, batch: 3, page: 1, skew: 35882965, scopes: [""]),
      ],
      [
        .online(1, .init(what: .count, record: 2, place: 0), only: false, []),
        .online(1, .init(what: .count, record: 3, place: 1), only: true, []),
        .sync(2, .both, [], during: nil),
        .write(2, .init(what: .move, record: 2, place: 2)),
        .decide(2, 9, .keepLocal),
        .write(2, .init(what: .create, record: 2, place: 1)),
        .epoch,
      ])
    #expect(found == [])
  }

  @Test("An insert in doubt that moved away before the first page is removed")
  func movedAway() async throws {
    let found = try await WideRunner.problems(
      seed: 22094,
      [
        .init(policy: .localWins, refusals: .quarantine, batch: 6, page: 4, skew: 0, scopes: [""]),
        .init(policy: .localWins, refusals: .keep, batch: 4, page: 5, skew: -41786917, scopes: ["box"]),
        .init(policy: .localWins, refusals: .keep, batch: 2, page: 1, skew: 71091302, scopes: [""]),
        .init(policy: .localWins, refusals: .quarantine, batch: 2, page: 3, skew: -20120363, scopes: [""]),
      ],
      [
        .write(0, .init(what: .pen, record: 4, place: 0)),
        .online(1, .init(what: .count, record: 4, place: 2), only: false, [.lostAnswer]),
      ])
    #expect(found == [])
  }

  @Test("A move there and back in one transaction isn't a move")
  func thereAndBack() async throws {
    let found = try await WideRunner.problems(
      seed: 73835,
      [
        .init(policy: .localWins, refusals: .quarantine, batch: 1, page: 1, skew: 0, scopes: [""]),
        .init(policy: .localWins, refusals: .quarantine, batch: 5, page: 6, skew: 77645946, scopes: [""]),
        .init(
          policy: .localWins, refusals: .quarantine, batch: 3, page: 3, skew: 69465601,
          scopes: ["Sheet", "box/1"]),
      ],
      [
        .sync(0, .both, [.lostAnswer], during: .init(what: .count, record: 0, place: 2)),
        .write(2, .init(what: .note, record: 0, place: 1)),
        .atomic(2, [.init(what: .late, record: 0, place: 2), .init(what: .create, record: 1, place: 2)]),
        .sync(0, .both, [], during: nil),
        .online(2, .init(what: .move, record: 1, place: 1), only: false, []),
        .atomic(
          0,
          [
            .init(what: .move, record: 0, place: 1), .init(what: .own, record: 3, place: 2),
            .init(what: .move, record: 0, place: 2),
          ]),
      ])
    #expect(found == [])
  }

  @Test("A record recreated over a deletion keeps the base of its edit")
  func madeAgain() async throws {
    let found = try await WideRunner.problems(
      seed: 78858,
      [
        .init(policy: .changedFields, refusals: .keep, batch: 4, page: 6, skew: 0, scopes: [""]),
        .init(
          policy: .changedFields, refusals: .discard, batch: 1, page: 6, skew: -61788819,
          scopes: ["Sheet", "box"]),
        .init(policy: .changedFields, refusals: .discard, batch: 4, page: 6, skew: 151055, scopes: [""]),
        .init(policy: .changedFields, refusals: .discard, batch: 3, page: 6, skew: 46105778, scopes: [""]),
      ],
      [
        .online(3, .init(what: .late, record: 1, place: 2), only: false, []),
        .draft(1, .init(what: .pen, record: 1, place: 0)),
        .sync(2, .both, [], during: nil),
        .write(3, .init(what: .delete, record: 1, place: 0)),
        .sync(3, .both, [], during: nil),
        .online(
          2, .init(what: .note, record: 1, place: 1), only: false, [.none, .late, .lostRequest]),
      ])
    #expect(found == [])
  }

  @Test("A pending record that the server has in a followed container stays")
  func followedElsewhere() async throws {
    let found = try await WideRunner.problems(
      seed: 12182,
      [
        .init(policy: .localWins, refusals: .keep, batch: 5, page: 5, skew: 0, scopes: [""]),
        .init(
          policy: .localWins, refusals: .discard, batch: 6, page: 6, skew: -14_608_429, scopes: ["Sheet"]),
        .init(policy: .localWins, refusals: .quarantine, batch: 4, page: 1, skew: 15_237_520, scopes: [""]),
      ],
      [
        .online(1, .init(what: .title, record: 5, place: 1), only: false, [.lostAnswer, .busy]),
        .write(2, .init(what: .title, record: 5, place: 0)),
        .sync(2, .both, [], during: nil),
        .follow(1, ["Sheet", "box"]),
        .sync(1, .both, [.duplicated, .busy], during: nil),
      ])
    #expect(found == [])
  }

  @Test("A record that left in doubt goes when its change is answered")
  func leftInDoubt() async throws {
    let found = try await WideRunner.problems(
      seed: 1954,
      [
        .init(policy: .changedFields, refusals: .quarantine, batch: 1, page: 5, skew: 0, scopes: [""]),
        .init(
          policy: .remoteWins, refusals: .discard, batch: 2, page: 4, skew: 37_014_258, scopes: ["box/1"]),
        .init(policy: .fieldByField, refusals: .keep, batch: 5, page: 3, skew: -10_828_129, scopes: [""]),
      ],
      [
        .follow(2, ["Sheet", "box/1"]),
        .online(0, .init(what: .title, record: 2, place: 0), only: true, []),
        .write(0, .init(what: .note, record: 2, place: 2)),
        .sync(2, .both, [], during: nil),
        .sync(2, .both, [], during: .init(what: .note, record: 2, place: 2)),
        .sync(2, .both, [.lostAnswer, .lostRequest], during: nil),
        .sync(0, .both, [], during: nil),
        .sync(2, .pull, [], during: nil),
      ])
    #expect(found == [])
  }

  @Test("A move back to where the device had created the record changes nothing")
  func backOverOnlineSave() async throws {
    let found = try await WideRunner.problems(
      seed: 64,
      [
        .init(policy: .throwing, refusals: .quarantine, batch: 5, page: 3, scopes: [""]),
        .init(policy: .remoteWins, batch: 5, page: 1, skew: 68_648_085, scopes: ["Sheet"]),
      ],
      [
        .online(0, .init(what: .own, record: 1, place: 0), only: true, []),
        .write(0, .init(what: .create, record: 1, place: 2)),
        .sync(1, .both, [], during: nil),
        .beside(1, .init(what: .move, record: 1, place: 2), syncs: true, [.lostAnswer, .lostAnswer]),
        .write(0, .init(what: .move, record: 1, place: 0)),
      ])
    #expect(found == [])
  }
}
