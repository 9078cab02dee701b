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
