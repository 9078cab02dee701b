import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import Testing

/// The requirements of every storage that keeps the progress of webhooks. Each check gets a storage without spaces.
struct FeedConformance: Sendable {
  typealias Storage = FeedStorage & ServerMaintenance
  typealias Check = ConformanceCheck<any Storage>

  private static func put(_ storage: any Storage, _ space: String, upTo last: Int64 = 1) async throws {
    for position in 1...last {
      try await storage.write(space: space) {
        try $0.put([ServerStorageConformance.entry(position, "n\(position)")])
      }
    }
  }

  private static func head(_ storage: any Storage, _ space: String = "s") async throws -> FeedPosition {
    try await storage.read(space: space) { FeedPosition(epoch: $0.epoch, position: $0.head) }
  }

  static let checks: [Check] = [
    Check("Heads come by name, a page at a time") { storage in
      for space in ["b", "a", "c"] { try await put(storage, space) }
      // A refused operation makes a space without a change.
      let refused = Outcome(operation: "o", .rejected(Rejection(code: "forbidden", message: "no")))
      try await storage.write(space: "bare") { try $0.remember([refused], device: "d", at: 1) }
      let first = try await storage.heads(after: "", limit: 2)
      #expect(first.map(\.space) == ["a", "b"])
      #expect(first.map(\.head.position) == [1, 1] && first.allSatisfy { !$0.head.epoch.isEmpty })
      #expect(try await storage.heads(after: "b", limit: 2).map(\.space) == ["c"])
      #expect(try await storage.heads(after: "c", limit: 2).isEmpty)
    },
    Check("A webhook without progress begins at the start, and a missing space has no state") { storage in
      try await put(storage, "s", upTo: 2)
      let state = try #require(try await storage.state(of: "h", in: "s"))
      #expect(state.progress == WebhookProgress() && state.holder.isEmpty && state.isBehind)
      #expect(state.head.space == "s" && state.lag == 2)
      #expect(try await storage.state(of: "h", in: "none") == nil)
      #expect(try await storage.webhooks().isEmpty)
    },
    Check("One holder at a time has a space, until its claim ends") { storage in
      try await put(storage, "s")
      #expect(try await storage.claim("h", in: "s", for: "a", until: 100, at: 0) == WebhookProgress())
      #expect(try await storage.claim("h", in: "s", for: "b", until: 199, at: 99) == nil)
      #expect(try await storage.claim("other", in: "s", for: "b", until: 199, at: 99) != nil)
      #expect(try await storage.claim("h", in: "s", for: "a", until: 150, at: 99) != nil, "it is renewed")
      #expect(try await storage.claim("h", in: "s", for: "b", until: 249, at: 149) == nil)
      #expect(try await storage.claim("h", in: "s", for: "b", until: 250, at: 150) != nil, "it is over")
      let state = try #require(try await storage.state(of: "h", in: "s"))
      #expect(state.holder == "b" && state.heldUntil == 250)
      #expect(try await storage.webhooks() == ["h", "other"])
    },
    Check("A claim by a clock that was years ahead is over") { storage in
      try await put(storage, "s")
      let day = WebhookState.longestClaim
      #expect(try await storage.claim("h", in: "s", for: "a", until: day, at: 0) != nil)
      #expect(try await storage.claim("h", in: "s", for: "b", until: 9, at: 0) == nil, "it may be right")
      #expect(try await storage.claim("h", in: "s", for: "a", until: 9000 * day, at: 8999 * day) != nil)
      #expect(try await storage.state(of: "h", in: "s")?.isHeld(at: 8999 * day) == true)
      #expect(try await storage.state(of: "h", in: "s")?.isHeld(at: 1) == false)
      #expect(try await storage.claim("h", in: "s", for: "b", until: 9, at: 1) != nil)
    },
    Check("Progress is noted by the holder alone, and read by the next one") { storage in
      try await put(storage, "s", upTo: 3)
      _ = try await storage.claim("h", in: "s", for: "a", until: 100, at: 0)
      let position = FeedPosition(epoch: try await head(storage).epoch, position: 2)
      let progress = WebhookProgress(position: position, failures: 3, deliveredAt: 50)
      #expect(try await storage.note(progress, of: "h", in: "s", by: "b", until: 0) == false)
      #expect(try await storage.note(progress, of: "h", in: "s", by: "a", until: 0))
      #expect(try await storage.state(of: "h", in: "s")?.lag == 1)
      #expect(try await storage.claim("h", in: "s", for: "b", until: 100, at: 1) == progress)
      #expect(try await storage.note(progress, of: "h", in: "s", by: "a", until: 0) == false)
    },
    Check("An operator's place ends a claim, and the delivery under way notes nothing") { storage in
      try await put(storage, "s", upTo: 3)
      _ = try await storage.claim("h", in: "s", for: "a", until: 100, at: 0)
      let end = try await head(storage)
      try await storage.place("h", in: "s", at: end)
      #expect(try await storage.note(WebhookProgress(), of: "h", in: "s", by: "a", until: 0) == false)
      let state = try #require(try await storage.state(of: "h", in: "s"))
      #expect(!state.isBehind && state.progress.position == end && state.lag == 0)
      try await storage.place("h", in: "s", at: .start)
      #expect(try await storage.state(of: "h", in: "s")?.isBehind == true)
    },
    Check("States come by name, with what is delivered and what isn't") { storage in
      for space in ["b", "a", "c"] { try await put(storage, space) }
      try await storage.place("h", in: "b", at: try await head(storage, "b"))
      let first = try await storage.states(of: "h", after: "", limit: 2)
      #expect(first.map(\.head.space) == ["a", "b"] && first.map(\.isBehind) == [true, false])
      #expect(try await storage.states(of: "h", after: "b", limit: 2).map(\.head.space) == ["c"])
      #expect(try await storage.states(of: "other", after: "", limit: 9).allSatisfy(\.isBehind))
    },
    Check("A new epoch leaves a webhook behind, and a removed space leaves no progress") { storage in
      try await put(storage, "s")
      try await storage.place("h", in: "s", at: try await head(storage))
      try await storage.startEpoch(space: "s")
      let state = try #require(try await storage.state(of: "h", in: "s"))
      #expect(state.isBehind && state.progress.position.epoch != state.head.head.epoch)
      try await storage.remove(space: "s")
      #expect(try await storage.state(of: "h", in: "s") == nil)
      #expect(try await storage.webhooks().isEmpty)
      try await put(storage, "s")
      #expect(try await storage.state(of: "h", in: "s")?.progress == WebhookProgress())
    },
    Check("Of many that claim a space at once, one gets it") { storage in
      try await put(storage, "s")
      let won = try await withThrowingTaskGroup(of: Bool.self) { tasks in
        for number in 0..<16 {
          tasks.addTask {
            try await storage.claim("h", in: "s", for: "p\(number)", until: 100, at: 0) != nil
          }
        }
        return try await tasks.reduce(0) { $0 + ($1 ? 1 : 0) }
      }
      #expect(won == 1)
    },
  ]
}

@Suite("The progress of webhooks in storages", .timeLimit(.minutes(5)))
struct FeedConformanceTests {
  @Test("A SQLite storage conforms", arguments: FeedConformance.checks)
  func sqlite(check: FeedConformance.Check) async throws { try await check.run(SQLiteServerStorage()) }

  @Test("A SQLite storage in a file conforms", arguments: FeedConformance.checks)
  func file(check: FeedConformance.Check) async throws {
    let folder = try TemporaryFolder()
    let storage = try SQLiteServerStorage(at: folder.path + "/ledger.sqlite")
    try await check.run(storage)
    try storage.close()
  }

  @Test(
    "A PostgreSQL storage conforms", .enabled(if: RealPostgres.url != nil, RealPostgres.hint),
    arguments: FeedConformance.checks)
  func postgres(check: FeedConformance.Check) async throws { try await RealPostgres.with(check.run) }
}
