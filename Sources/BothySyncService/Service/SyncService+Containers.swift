import BothyStore

/// The server's summary of one container, without its records.
///
/// Two users may get different numbers, as each counts the records that it may see.
public struct ContainerSummary: Sendable, Hashable {
  /// The container's path. By default a record is in the one with the name of its type.
  public var container: String
  /// The number of live records that the user may see.
  ///
  /// It is at least 1. Containers below this one are counted for themselves.
  public var count: Int
  /// The position of the last change among them.
  ///
  /// A deletion doesn't raise it, and may lower it.
  public var position: Int64

  init(container: String, count: Int, position: Int64) {
    self.container = container
    self.count = count
    self.position = position
  }
}

extension SyncService {
  /// Returns the containers of a scope with a live record that the user may see, by name. Reads these records, and few
  /// others, in one transaction.
  ///
  /// The order is that of the names' bytes. Memory grows with the containers, and not with the records.
  ///
  /// - Throws: `SyncServiceError` `.tooExpensive` after `AccessRules.scanTime`, and `.answerTooLarge` if the containers
  ///   have more bytes than `AccessRules.answerSize`. Request a smaller scope then.
  ///   `CancellationError` if the task is cancelled.
  public func containers(space: String, user: Caller, _ scope: SyncScope) async throws
    -> [ContainerSummary]
  {
    try await storage.search(space: space, within: rules.scanTime) { storage in
      let viewer = try viewer(user, in: storage)
      var summaries: [ExactText: ContainerSummary] = [:]
      var budget = ListBudget(bytes: rules.answerSize, advice: "Ask for the containers below one of them.")
      try forEachVisibleRecord(in: scope, viewer, storage) { entry in
        let container = entry.record.container
        let name = ExactText(container)
        if summaries[name] == nil { try budget.spend(names: container.utf8.count) }
        var summary = summaries[name] ?? ContainerSummary(container: container, count: 0, position: 0)
        summary.count += 1
        summary.position = max(summary.position, entry.position)
        summaries[name] = summary
      }
      return summaries.values.sorted { $0.container.utf8.lexicographicallyPrecedes($1.container.utf8) }
    }
  }
}
