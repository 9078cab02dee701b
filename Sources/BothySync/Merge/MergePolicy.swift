public import BothyStore

/// How a conflict is decided: a record changed here that has also changed on the server since the base.
public struct MergePolicy: Sendable {
  /// A name for reports.
  public let name: String
  let decide: Decide

  enum Decide: Sendable {
    case pure(@Sendable (MergeContext) -> MergeDecision)
    case custom(@Sendable (MergeContext) async throws -> MergeDecision)
  }

  /// The server's state stays, the local change is undone and reported.
  public static let serverModifiedWins = MergePolicy(
    name: "serverModifiedWins", decide: .pure { _ in .server })

  /// The local record replaces the server's as a whole; a record deleted there is made again; a deletion here stands.
  /// `clientWins(.changedFields)` leaves the server's values in fields that were not changed here.
  public static let clientWins = MergePolicy(name: "clientWins", decide: .pure { _ in .client })

  /// The later edit wins as a whole, by server-corrected time; ties go to the server, and so does an edit whose time
  /// can't be relied on.
  public static let lastModifiedWins = MergePolicy(
    name: "lastModifiedWins",
    decide: .pure { context in
      guard let server = context.server else { return .client }
      return context.isEditTimeReliable && context.edited > server.modified ? .client : .server
    })

  /// Field by field against the base: a field changed on one side takes that side's value, a field changed on
  /// both follows its own rule (`FieldMergeRule`). The default. An edit beats a deletion, whichever side made it. In a
  /// together-write a field that goes to the server takes all that was written with it along.
  public static let fieldMerge = MergePolicy(name: "fieldMerge", decide: .pure { FieldMerge.decide($0) })

  /// The app's own rule. It may suspend and throw; when it throws, the record stays pending and the failure is
  /// reported. The same goes for one that takes longer than `SyncConfiguration.mergeTimeout`, and for a merged
  /// record that does not fit the schema. It runs outside any transaction; if the record is edited meanwhile, it
  /// is asked again.
  public static func custom(
    _ name: String = "custom", _ decide: @escaping @Sendable (MergeContext) async throws -> MergeDecision
  ) -> MergePolicy {
    MergePolicy(name: name, decide: .custom(decide))
  }
}

/// What a merge policy is given to decide by.
public struct MergeContext: Sendable {
  /// Which record is in conflict.
  public var record: RecordID
  /// What is pending here: an insert, an update or a deletion.
  public var operation: SyncOperation.Kind
  /// The record as it is here; nil when it was deleted here.
  public var client: [String: JSONValue]?
  /// The record as it was when it was deleted here; nil unless it was.
  public var deleted: [String: JSONValue]?
  /// What the server last told before the local change; nil for a record made here.
  public var base: [String: JSONValue]?
  /// What the server has now: a tombstone if it was deleted there, nil if it never had it.
  public var server: ServerRecord?
  /// The fields of `server`; nil when it was deleted there or never was.
  public var serverFields: [String: JSONValue]?
  /// When the local change was made, in server-corrected milliseconds.
  public var edited: Int64
  /// False when the device was restarted before the edit and had not heard the server's clock since.
  public var isEditTimeReliable = true
  /// Whether the record was changed together with others: then `.server` stands for all of them.
  public var isTogether = false
  /// The declared type, where this schema knows it.
  public var schema: TypeSchema?
  /// The table of the type.
  var table: TypeTable?
  /// The container that the record is in here; nil when it was deleted here.
  public var container: String?
  /// The container that the server last told of.
  var baseContainer: String
  /// Whether the caller of the save waits for the server's word, and readers see the record without it.
  var isAwaited = false

  /// The server's fields with the change on top, where both sides changed different ones; nil where they did not.
  var disjoint: [String: JSONValue]? {
    guard operation == .update, let base, let client, var merged = serverFields, !isMovedByBoth else {
      return nil
    }
    for name in Set(client.keys).union(base.keys) where client[name] != base[name] {
      guard merged[name] == base[name] else { return nil }
      merged[name] = client[name]
    }
    return merged
  }

  /// Whether the record was moved here and on the server, to different containers.
  var isMovedByBoth: Bool {
    guard let here = container, let there = server?.container, here != there else { return false }
    return here != baseContainer && there != baseContainer
  }
}

/// What a merge policy decides.
public enum MergeDecision: Sendable, Hashable {
  /// The local state stays and is sent, against what the server has now.
  case client
  /// The server's state replaces the local one, which the report then names as overwritten.
  case server
  /// These fields, whole; what differs from the server's is sent.
  case merged([String: JSONValue])
}

/// Which policy applies to which conflict. The most specific one set wins: type and operation, type, operation,
/// default.
public struct MergePolicies: Sendable {
  /// For every conflict that nothing more specific is set for.
  public var `default`: MergePolicy
  /// For records made here that the server has by the same id; nil leaves it to `default`.
  public var inserts: MergePolicy?
  /// For records changed here; nil leaves it to `default`.
  public var updates: MergePolicy?
  /// For records deleted here; nil leaves it to `default`.
  public var deletes: MergePolicy?
  /// By the types' names; a type's own policies go before all others.
  public var types: [String: PerType]

  /// The policies of one type. What is nil is left to the less specific ones.
  public struct PerType: Sendable {
    /// For every operation on the type that is not named below.
    public var `default`: MergePolicy?
    /// For records of the type made here.
    public var inserts: MergePolicy?
    /// For records of the type changed here.
    public var updates: MergePolicy?
    /// For records of the type deleted here.
    public var deletes: MergePolicy?

    /// - Parameter policy: the type's `default`.
    public init(
      _ policy: MergePolicy? = nil, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
      deletes: MergePolicy? = nil
    ) {
      `default` = policy
      self.inserts = inserts
      self.updates = updates
      self.deletes = deletes
    }
  }

  /// - Parameter policy: the `default`, which merges field by field unless told otherwise.
  public init(
    _ policy: MergePolicy = .fieldMerge, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
    deletes: MergePolicy? = nil, types: [String: PerType] = [:]
  ) {
    `default` = policy
    self.inserts = inserts
    self.updates = updates
    self.deletes = deletes
    self.types = types
  }

  /// The policy for a conflict of the local operation `kind` on a record of `type`.
  public func policy(for kind: SyncOperation.Kind, type: String) -> MergePolicy {
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
