import BothyStore
import BothySync
import BothyTesting
import Testing

/// Every change of one side against every change of the other.
@Suite("Updates against deletions", .timeLimit(.minutes(5)))
struct Scenario09UpdateDelete {
  enum Deed: String, CaseIterable, Sendable { case update, delete, nothing }

  private func act(_ deed: Deed, _ device: SimulatedDevice) throws {
    switch deed {
    case .update: try device.retitle(device.name)
    case .delete: try device.remove()
    case .nothing: break
    }
  }

  /// Returns the expected title on the server, or nil if the record is deleted. A acts before B does.
  private func expected(_ policy: MergePolicy, _ a: Deed, _ b: Deed, aArrivesFirst: Bool) -> String? {
    let results: [(deed: Deed, title: String?)] = [(a, "a"), (b, "b")].map {
      ($0.0, $0.0 == .delete ? nil : $0.1)
    }
    guard a != .nothing && b != .nothing else {
      let deed = results.first { $0.deed != .nothing }
      return deed.map(\.title) ?? "start"
    }
    let first = aArrivesFirst ? results[0] : results[1]
    let second = aArrivesFirst ? results[1] : results[0]
    switch policy.name {
    case MergePolicy.localWins.name: return second.title
    case MergePolicy.latestWins.name: return results[1].title
    case MergePolicy.fieldByField.name where a != b: return results.first { $0.deed == .update }?.title
    default: return first.title
    }
  }

  /// Promises: Scenario-9
  @Test(
    "Updates and deletions on both sides end as the policy says")
  func matrix() async throws {
    for policy in [MergePolicy.remoteWins, .localWins, .latestWins, .fieldByField] {
      for a in Deed.allCases {
        for b in Deed.allCases {
          for aArrivesFirst in [true, false] {
            let story: Comment = "\(policy.name): a \(a), b \(b), \(aArrivesFirst ? "a" : "b") arrives first"
            let pair = try await Pair.sharing(policy: policy)
            try act(a, pair.a)
            pair.world.time.advance(by: 60_000)
            try act(b, pair.b)
            pair.world.time.advance(by: 60_000)
            for device in aArrivesFirst ? [pair.a, pair.b] : [pair.b, pair.a] { await device.store.sync() }
            #expect(try await pair.isEven(), story)
            #expect(
              try await pair.serverTitle() == expected(policy, a, b, aArrivesFirst: aArrivesFirst), story)
          }
        }
      }
    }
  }

  /// Promises: Scenario-9
  @Test(
    "A policy for deletions decides about them, and another about the rest",
    arguments: [true, false])
  func deletePolicy(deletionWins: Bool) async throws {
    for aArrivesFirst in [true, false] {
      let pair = try await Pair.sharing {
        $0.merging = MergePolicies(
          default: deletionWins ? .remoteWins : .localWins,
          deletes: deletionWins ? .localWins : .remoteWins)
      }
      try pair.a.remove()
      try pair.b.retitle("b")
      for device in aArrivesFirst ? [pair.a, pair.b] : [pair.b, pair.a] { await device.store.sync() }
      #expect(try await pair.isEven())
      #expect(try await pair.serverTitle() == (deletionWins ? nil : "b"))
    }
  }
}
