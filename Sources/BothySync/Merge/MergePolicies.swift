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
  package var types: [String: PerType] = [:]

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
    `default` = policy
    (self.inserts, self.updates, self.deletes) = (inserts, updates, deletes)
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
