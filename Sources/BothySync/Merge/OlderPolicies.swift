public import BothyStore

/// Merge policies as the two older systems had them, by their own rules and names.
extension MergePolicy {
  /// The server's record replaces the local one if it was changed later; else the local one is sent. What the
  /// server has deleted is gone. Compares server-corrected times; a tie goes to the local change.
  public static let remoteNewerWins = MergePolicy(
    name: "remoteNewerWins",
    decide: .pure { context in
      guard let server = context.server, !server.isDeleted else { return .server }
      return server.modified > context.edited ? .server : .client
    })

  /// What of a record that wins is sent.
  public enum Granularity: String, Sendable, Hashable, CaseIterable {
    /// The whole record: the server has just what is here.
    case record
    /// The fields changed here; the others keep the server's values.
    case changedFields
  }

  /// The client wins, with as much of its record as is asked for. `.record` is `.clientWins`.
  public static func clientWins(_ granularity: Granularity) -> MergePolicy {
    guard granularity == .changedFields else { return .clientWins }
    return MergePolicy(
      name: "clientWins",
      decide: .pure { context in
        guard let client = context.client, var merged = context.serverFields else { return .client }
        let base = context.base ?? [:]
        for (name, value) in client where base[name] != value { merged[name] = value }
        for name in base.keys where client[name] == nil { merged[name] = nil }
        return .merged(merged)
      })
  }

  /// The later edit wins; where the server has neither the record nor a note of its deletion, the time is unknown
  /// and `missingServerRecord` wins. A deletion whose time the server knows is compared like an edit.
  public static func lastModifiedWins(missingServerRecord: MergeSide) -> MergePolicy {
    MergePolicy(
      name: "lastModifiedWins",
      decide: .pure { context in
        guard let server = context.server else { return missingServerRecord.decision }
        return context.isEditTimeReliable && context.edited > server.modified ? .client : .server
      })
  }

  /// A rule that names one side, given the record here, on the server and as the server last told of it before the
  /// change here; nil stands for a record that is not there. A server record equal to the last told is unchanged.
  public static func choosing(
    _ choose:
      @escaping @Sendable (
        _ client: [String: JSONValue]?, _ server: [String: JSONValue]?, _ base: [String: JSONValue]?
      ) async throws -> MergeSide
  ) -> MergePolicy {
    .custom("choosing") { context in
      try await choose(context.client, context.serverFields, context.base).decision
    }
  }
}

/// The side that wins; the raw values are those of the older SDK.
public enum MergeSide: Int, Sendable, Hashable, CaseIterable {
  /// The local record stays, and is sent.
  case client = 0
  /// The server's record takes the place of the local one.
  case server = 1

  var decision: MergeDecision { self == .client ? .client : .server }
}
