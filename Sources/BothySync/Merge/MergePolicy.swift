/// A rule that decides conflicts: records changed here that have also changed on the server since the base.
///
/// A rule of the app's own is set by `MergePolicies.set(for:on:_:)`. The journal has the content that a rule replaces.
///
/// ```swift
/// var options = SyncOptions()
/// options.merging = MergePolicies(default: .latestWins)
/// options.merging.set(.localWins, for: Photo.self, on: [.update])
/// ```
public struct MergePolicy: Sendable {
  /// A name for reports.
  package let name: String
  package let decide: Decide

  package init(name: String, decide: Decide) {
    self.name = name
    self.decide = decide
  }

  package enum Decide: Sendable {
    case pure(@Sendable (MergeContext) -> MergeDecision)
    case custom(@Sendable (MergeContext) async throws -> MergeDecision)
  }

  /// The server's state stays. The local change is undone and reported.
  ///
  /// A record deleted there is deleted here. The journal has the local content, to restore it.
  public static let remoteWins = MergePolicy(
    name: "remoteWins", decide: .pure { _ in .server })

  /// The local record replaces the server's as a whole. A record deleted there is recreated, and a deletion here is
  /// kept. `localWins(.changedFields)` leaves the server's values in fields that weren't changed here.
  public static let localWins = MergePolicy(name: "localWins", decide: .pure { _ in .client })

  /// The later edit wins as a whole, by server-corrected time. The server wins ties, and against an edit whose
  /// time isn't reliable.
  ///
  /// A deletion is an edit too. Against a record that the server never had the local side wins.
  public static let latestWins = MergePolicy(
    name: "latestWins",
    decide: .pure { context in
      guard let server = context.server else { return .client }
      return context.isEditTimeReliable && context.edited > server.modified ? .client : .server
    })

  /// Merges field by field against the base. A field changed on one side takes that side's value, and a field changed
  /// on both follows its own rule (`FieldMergeRule`). The default. An edit beats a deletion, whichever side made it. If
  /// the server's value wins a field of a transaction, all changes of the transaction give way.
  public static let fieldByField = MergePolicy(name: "fieldByField", decide: .pure { FieldMerge.decide($0) })

  /// The app's own rule. It may suspend and throw. If it throws, the record stays pending and the failure is reported.
  /// This also happens if it takes longer than `SyncOptions.mergeTimeout`, or returns a merged record that
  /// doesn't fit the schema. It runs outside any transaction, and runs again if the record is edited meanwhile.
  package static func custom(
    _ name: String = "custom", _ decide: @escaping @Sendable (MergeContext) async throws -> MergeDecision
  ) -> MergePolicy {
    MergePolicy(name: name, decide: .custom(decide))
  }
}

extension MergePolicy {
  /// The part of a winning record that is sent, if not all of it.
  public enum Granularity: String, Sendable, Hashable, CaseIterable {
    /// The fields changed here, compared with the base. The others keep the server's values.
    case changedFields
  }

  /// The local change wins, with the given part of its record. `localWins` alone sends all of it.
  ///
  /// Against a record that was deleted on either side it does the same as `localWins`.
  public static func localWins(_ granularity: Granularity) -> MergePolicy {
    MergePolicy(
      name: "localWins",
      decide: .pure { context in
        guard let client = context.client, var merged = context.serverFields else { return .client }
        let base = context.base ?? [:]
        for (name, value) in client where base[name] != value { merged[name] = value }
        for name in base.keys where client[name] == nil { merged[name] = nil }
        return .merged(merged)
      })
  }
}
