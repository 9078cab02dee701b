import BothyLegacy
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Testing

/// The section of the caching SDK's guide on merge policies.
@Suite("The caching SDK: merge policies", .timeLimit(.minutes(5)))
struct StackMobMergeTests {
  /// Returns a pair with a conflict: A's title `mine` isn't sent, and the server has `theirs`, set earlier or later.
  private func conflict(_ policies: MergePolicies, theirsIsLater: Bool = true) async throws -> Pair {
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"]) {
      $0.merging = policies
      $0.sendsLocalTimes = true
    }
    try pair.b.edit { $0.note = "theirs" }
    if theirsIsLater { try pair.a.retitle("mine") } else { try pair.b.retitle("theirs") }
    pair.world.time.advance(by: 60_000)
    if theirsIsLater { try pair.b.retitle("theirs") } else { try pair.a.retitle("mine") }
    await pair.b.store.sync(.both)
    return pair
  }

  /// Promises: S-45, S-55, S-62
  @Test("A conflict exists if the server's version differs from the last known one")
  func whatIsAConflict() async throws {
    let calls = Calls()
    let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2", "T3"]) {
      $0.merging = MergePolicies(default: .counting(calls))
    }
    try pair.a.retitle("T1", "mine")
    await pair.a.store.sync()
    try pair.a.retitle("T1", "mine again")
    await pair.a.store.sync()
    #expect(calls.count == 0)
    try await pair.otherDeviceSets("same", "T2")
    try pair.a.retitle("T2", "same")
    await pair.a.store.sync()
    #expect(calls.count == 1)
    try await pair.otherDeviceSets("theirs", "T3")
    try pair.a.retitle("T3", "mine")
    await pair.a.store.sync()
    #expect(calls.count == 2)
    #expect(try pair.a.title("T3") == "theirs")
  }

  /// Promises: S-54, S-55, S-58
  @Test(
    "By default a changed server record wins, and the report has the loser")
  func remoteWins() async throws {
    #expect(SyncOptions.stackMob.merging.default.name == "remoteWins")
    let pair = try await conflict(SyncOptions.stackMob.merging)
    let report = await pair.a.store.sync()
    #expect(report.synced == [SyncReport.Record(record: .note(), action: .updatedCache)])
    #expect(try report.overwritten.map { try $0.fields?.members()["title"] } == ["mine"])
    #expect(try pair.a.title() == "theirs")
    #expect(try pair.a.store.outboxEntries().isEmpty)
    #expect(try await pair.isEven())
  }

  /// Promises: S-53, S-56, C-22
  @Test("If the client wins, its record or only its changed fields replace the server's")
  func localWins() async throws {
    for (policy, note) in [(MergePolicy.localWins, JSONValue?.none), (.localWins(.changedFields), "theirs")] {
      let pair = try await conflict(MergePolicies(default: policy))
      let report = await pair.a.store.sync()
      #expect(report.synced.last == SyncReport.Record(record: .note(), action: .updatedOnServer))
      #expect(try await pair.serverTitle() == "mine")
      #expect(try await pair.server("T1")?["note"] == note)
      #expect(try await pair.isEven())
    }
  }

  /// Promises: S-57
  @Test(
    "The later edit wins, the server wins ties, and unknown deletions are configurable")
  func latestWins() async throws {
    for theirsIsLater in [true, false] {
      let pair = try await conflict(MergePolicies(default: .latestWins), theirsIsLater: theirsIsLater)
      await pair.a.store.sync()
      #expect(try await pair.serverTitle() == (theirsIsLater ? "theirs" : "mine"))
      #expect(try await pair.isEven())
    }
    for policy in [.latestWins, MergePolicy.latestWins(missingServerRecord: .client)] {
      #expect(try await titleAfterTie(policy) == "theirs")
    }
    for side in MergeSide.allCases {
      let pair = try await Pair.preset(.stackMob, sharing: ["T1"]) {
        $0.merging = MergePolicies(default: .latestWins(missingServerRecord: side))
      }
      try pair.b.remove()
      await pair.b.store.sync(.both)
      try await pair.world.storage.compact(space: "test", upTo: 100)
      try pair.a.retitle("mine")
      await pair.a.store.sync()
      #expect(try await pair.serverTitle() == (side == .client ? "mine" : nil))
    }
  }

  /// Promises: N-50
  @Test("If the newer remote record wins, a tie keeps the local change")
  func remoteNewerWins() async throws {
    #expect(try await titleAfterTie(.remoteNewerWins) == "mine")
  }

  /// Returns the title on the server after two devices changed it at the same moment.
  private func titleAfterTie(_ policy: MergePolicy) async throws -> String? {
    let tie = try await Pair.preset(.stackMob, sharing: ["T1"]) {
      $0.merging = MergePolicies(default: policy)
      $0.sendsLocalTimes = true
    }
    try tie.b.retitle("theirs")
    try tie.a.retitle("mine")
    await tie.b.store.sync(.both)
    await tie.a.store.sync()
    return try await tie.serverTitle()
  }

  /// Promises: S-59
  @Test("The most specific policy by operation and type decides")
  func byOperation() async throws {
    var policies = MergePolicies(default: .remoteWins, updates: .localWins, deletes: .localWins)
    #expect(policies.policy(for: .insert, type: "Note").name == "remoteWins")
    #expect(policies.policy(for: .update, type: "Note").name == "localWins")
    policies.types["Note"] = MergePolicies.PerType(.latestWins, deletes: .fieldByField)
    #expect(policies.policy(for: .update, type: "Note").name == "latestWins")
    #expect(policies.policy(for: .delete, type: "Note").name == "fieldByField")
    #expect(policies.policy(for: .delete, type: "Other").name == "localWins")
    let pair = try await conflict(MergePolicies(default: .remoteWins, updates: .localWins))
    try pair.a.insert("T2", "mine")
    try pair.b.insert("T2", "theirs")
    await pair.b.store.sync(.both)
    await pair.a.store.sync()
    #expect(try await pair.serverTitle("T1") == "mine")
    #expect(try await pair.serverTitle("T2") == "theirs")
    #expect(try await pair.isEven())
  }

  /// Promises: S-59
  @Test("In a sync the policy of a type and its operation comes first")
  func mostSpecific() async throws {
    typealias PerType = MergePolicies.PerType
    let (mine, theirs) = (MergePolicy.localWins, MergePolicy.remoteWins)
    let rows: [(policies: MergePolicies, type: PerType?, update: String, deletion: String?)] = [
      (MergePolicies(default: theirs, deletes: mine), nil, "theirs", nil),
      (MergePolicies(default: mine, deletes: theirs), nil, "mine", "theirs"),
      (MergePolicies(default: mine, updates: mine, deletes: mine), PerType(theirs), "theirs", "theirs"),
      (MergePolicies(default: theirs, updates: theirs), PerType(mine, deletes: theirs), "mine", "theirs"),
      (MergePolicies(default: theirs, deletes: mine), PerType(updates: mine), "mine", nil),
    ]
    for (number, row) in rows.enumerated() {
      let pair = try await Pair.preset(.stackMob, sharing: ["T1", "T2"]) {
        $0.merging = row.policies
        $0.merging.types["Note"] = row.type
        $0.merging.types["Other"] = PerType(row.update == "mine" ? theirs : mine)
      }
      for id in ["T1", "T2"] { try pair.b.retitle(id, "theirs") }
      await pair.b.store.sync(.both)
      try pair.a.retitle("T1", "mine")
      try pair.a.remove("T2")
      await pair.a.store.sync()
      #expect(try await pair.serverTitle("T1") == row.update, "row \(number)")
      #expect(try await pair.serverTitle("T2") == row.deletion, "row \(number)")
      #expect(try await pair.isEven(), "row \(number)")
    }
  }

  /// Promises: S-46, S-60, S-61
  @Test("A custom policy sees all three versions and chooses a side by number")
  func custom() async throws {
    #expect(MergeSide.client.rawValue == 0 && MergeSide.server.rawValue == 1)
    let seen = Journal()
    let remoteWins = MergePolicy.choosing { client, server, base in
      seen.note(
        "\(client?["title"]?.stringValue ?? "-") \(server?["title"]?.stringValue ?? "-") "
          + "\(base?["title"]?.stringValue ?? "-")")
      return server == base ? .client : .server
    }
    let pair = try await conflict(MergePolicies(default: remoteWins))
    await pair.a.store.sync()
    #expect(seen.lines == ["mine theirs start"])
    #expect(try pair.a.title() == "theirs")
    let merging = MergePolicy.custom { context in
      var fields = context.serverFields ?? [:]
      fields["title"] = "both"
      return .merged(fields)
    }
    let merged = try await conflict(MergePolicies(default: merging))
    await merged.a.store.sync()
    #expect(try await merged.server("T1") == ["title": "both", "note": "theirs", "score": 0])
    #expect(try await merged.isEven())
  }

  /// Promises: S-60
  @Test(
    "For a deletion a policy sees the deleted record and its time"
  )
  func customDeletion() async throws {
    let seen = Journal()
    let policy = MergePolicy.custom { context in
      seen.note("\(context.client == nil) \(context.deleted?["title"]?.stringValue ?? "-") \(context.edited)")
      return .server
    }
    let pair = try await Pair.preset(.stackMob, sharing: ["T1"]) {
      $0.merging = MergePolicies(default: policy)
    }
    try pair.a.remove()
    let deleted = pair.world.time.now
    pair.world.time.advance(by: 1000)
    try await pair.otherDeviceSets("theirs")
    await pair.a.store.sync()
    #expect(seen.lines == ["true start \(deleted)"])
    #expect(try pair.a.title() == "theirs")
  }

  /// Promises: S-2, S-60
  @Test("A policy that throws leaves its record pending, and the others are synced")
  func throwing() async throws {
    struct Unsure: Error {}
    let pair = try await conflict(MergePolicies(default: .choosing { _, _, _ in throw Unsure() }))
    try pair.a.insert("T2", "fine")
    let report = await pair.a.store.sync()
    #expect(report.rejected.map(\.record) == [.note()])
    #expect(report.synced.map(\.record) == [.note("T2")])
    #expect(try pair.a.title() == "mine" && pair.a.isPending())
  }
}
