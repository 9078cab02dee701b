package import BothyStore

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

/// The input of a merge policy.
package struct MergeContext: Sendable {
  /// The record in conflict.
  package var record: RecordID
  /// The kind of the pending change: an insert, an update or a deletion.
  package var operation: ChangeKind
  /// The local record, or `nil` if it was deleted here.
  package var client: [String: JSONValue]?
  /// The record as it was when it was deleted here, or `nil` if it wasn't.
  package var deleted: [String: JSONValue]?
  /// The fields that the server last reported before the local change, or `nil` for a record created here.
  package var base: [String: JSONValue]?
  /// The server's present record: a tombstone if it was deleted there, and `nil` if the server never had it.
  package var server: ServerRecord?
  /// The fields of `server`, or `nil` if the record was deleted there or never existed.
  package var serverFields: [String: JSONValue]?
  /// The time of the local change, in server-corrected milliseconds.
  package var edited: Int64
  /// False if the device was restarted before the edit and hadn't received the server's time since.
  package var isEditTimeReliable = true
  /// True if the record was changed together with others. Then `.server` applies to all of them.
  package var isTogether = false
  /// The declared type, if this schema knows it.
  package var schema: TypeSchema?
  /// The table of the type.
  var table: TypeTable?
  /// The local container of the record, or `nil` if it was deleted here.
  package var container: String?
  /// The container that the server last reported.
  var baseContainer: String
  /// True if the caller of the save waits for the server's verdict, and readers see the record without the change.
  var isAwaited = false

  /// The server's fields with the local change on top, or `nil` if both sides changed the same field.
  var disjoint: [String: JSONValue]? {
    guard operation == .update, let base, let client, var merged = serverFields, !isMovedByBoth else {
      return nil
    }
    for name in Set(client.keys).union(base.keys) where client[name] != base[name] {
      // Both sides made the same change. Equal numbers may be two counts.
      if merged[name] == client[name], schema?[name]?.merge != .counter { continue }
      guard merged[name] == base[name] else { return nil }
      merged[name] = client[name]
    }
    return merged
  }

  /// True if the record was moved here and on the server, to different containers.
  var isMovedByBoth: Bool {
    guard let here = container, let there = server?.container, here != there else { return false }
    return here != baseContainer && there != baseContainer
  }
}

/// The decision of a merge policy.
package enum MergeDecision: Sendable, Hashable {
  /// The local state stays and is sent, against the server's present version.
  case client
  /// The server's state replaces the local one, which the journal has then.
  case server
  /// These fields replace the whole record. Those that differ from the server's are sent.
  case merged([String: JSONValue])
}

/// The merge policies by type and operation. The most specific one applies: type and operation, type, operation,
/// default.
///
/// ```swift
/// var options = SyncOptions()
/// options.merging = MergePolicies(default: .fieldByField, deletes: .remoteWins)
/// options.merging.set(.remoteWins, for: Booking.self)
/// ```
public struct MergePolicies: Sendable {
  /// The policy for every conflict without a more specific one.
  package var `default`: MergePolicy
  /// The policy for records created here that the server has by the same id. With `nil`, `default` applies.
  package var inserts: MergePolicy?
  /// The policy for records changed here. With `nil`, `default` applies.
  package var updates: MergePolicy?
  /// The policy for records deleted here. With `nil`, `default` applies.
  package var deletes: MergePolicy?
  /// The policies of types, by the types' names. A type's own policies come before all others.
  package var types: [String: PerType]

  /// The policies of one type. In place of `nil`, the less specific ones apply.
  package struct PerType: Sendable {
    /// The policy for every operation on the type without one below.
    package var `default`: MergePolicy?
    /// The policy for records of the type created here.
    package var inserts: MergePolicy?
    /// The policy for records of the type changed here.
    package var updates: MergePolicy?
    /// The policy for records of the type deleted here.
    package var deletes: MergePolicy?

    /// - Parameter policy: the type's `default`.
    package init(
      _ policy: MergePolicy? = nil, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
      deletes: MergePolicy? = nil
    ) {
      `default` = policy
      self.inserts = inserts
      self.updates = updates
      self.deletes = deletes
    }
  }

  /// Creates policies: `MergePolicies(default: .latestWins)`. Those of a type are set by `set(_:for:on:)`.
  ///
  /// - Parameters:
  ///   - policy: the policy for every conflict without a more specific one.
  ///   - inserts: the policy for records created here that the server has by the same id.
  ///   - updates: the policy for records changed here.
  ///   - deletes: the policy for records deleted here.
  public init(
    default policy: MergePolicy = .fieldByField, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
    deletes: MergePolicy? = nil
  ) {
    self.init(default: policy, inserts: inserts, updates: updates, deletes: deletes, types: [:])
  }

  package init(
    default policy: MergePolicy = .fieldByField, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
    deletes: MergePolicy? = nil, types: [String: PerType]
  ) {
    `default` = policy
    self.inserts = inserts
    self.updates = updates
    self.deletes = deletes
    self.types = types
  }

  /// The policy for a conflict of the local operation `kind` on a record of `type`.
  package func policy(for kind: ChangeKind, type: String) -> MergePolicy {
    let own = types[type]
    let specific: MergePolicy?
    let general: MergePolicy?
    switch kind {
    case .insert: (specific, general) = (own?.inserts, inserts)
    case .update: (specific, general) = (own?.updates, updates)
    case .delete: (specific, general) = (own?.deletes, deletes)
    }
    return specific ?? own?.default ?? general ?? `default`
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
