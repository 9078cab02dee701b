public import BothyStore
public import BothySync

/// Merge policies of the two older systems, by their own rules and names.
extension MergePolicy {
  /// The server's record replaces the local one if it was changed later. Otherwise the local one is sent.
  ///
  /// A record that the server has deleted or doesn't have is deleted here. Compares server-corrected times,
  /// and the local change wins a tie. The server's record wins over a local change whose time is uncertain,
  /// because the clock was set before it. The journal has the local content that gives way.
  public static let remoteNewerWins = MergePolicy(
    name: "remoteNewerWins",
    decide: .pure { context in
      guard let server = context.server, !server.isDeleted, context.isEditTimeReliable else { return .server }
      return server.modified > context.edited ? .server : .client
    })

  /// The later edit wins, by server-corrected time. The server wins a tie, and against an edit whose time is
  /// uncertain.
  ///
  /// If the server has neither the record nor a note of its deletion, the time is unknown and
  /// `missingServerRecord` wins. A deletion whose time the server knows is compared like an edit.
  ///
  /// - Parameter missingServerRecord: `.client` sends the local record again, and `.server` deletes it here.
  public static func latestWins(missingServerRecord: MergeSide) -> MergePolicy {
    MergePolicy(
      name: "latestWins",
      decide: .pure { context in
        guard let server = context.server else { return missingServerRecord.decision }
        return context.isEditTimeReliable && context.edited > server.modified ? .client : .server
      })
  }

  /// A rule that names one side. It receives the local record, the server's, and the one that the server last
  /// reported before the local change.
  ///
  /// `nil` is a record that doesn't exist. A server's record that equals the last reported one is unchanged.
  /// The rule runs outside of any transaction, and may run again for one conflict. If it throws or takes
  /// longer than `SyncOptions.mergeTimeout`, the change stays pending and the failure is reported. It must
  /// not wait for a sync.
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

/// The side that wins. The raw values are those of the older SDK.
public enum MergeSide: Int, Sendable, Hashable, CaseIterable {
  /// The local record stays, and is sent. A record that was deleted here is deleted on the server.
  case client = 0
  /// The server's record replaces the local one. Without one the local record is deleted.
  case server = 1

  var decision: MergeDecision { self == .client ? .client : .server }
}
