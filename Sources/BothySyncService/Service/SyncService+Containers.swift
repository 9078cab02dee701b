import BothyStore

/// The server's summary of one container, without its records.
public struct ContainerSummary: Sendable, Hashable {
  /// The container's path.
  public var container: String
  /// The number of live records that the user may see.
  public var count: Int
  /// The position of the last change among them.
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
  public func containers(space: String, principal: Principal, _ scope: SyncScope) async throws
    -> [ContainerSummary]
  {
    try await storage.search(space: space, within: rules.scanTime) { storage in
      let viewer = try viewer(principal, in: storage)
      var summaries: [ExactText: ContainerSummary] = [:]
      try forEachVisibleRecord(in: scope, viewer, storage) { entry in
        let container = entry.record.container
        let name = ExactText(container)
        var summary = summaries[name] ?? ContainerSummary(container: container, count: 0, position: 0)
        summary.count += 1
        summary.position = max(summary.position, entry.position)
        summaries[name] = summary
      }
      return summaries.values.sorted { $0.container.utf8.lexicographicallyPrecedes($1.container.utf8) }
    }
  }
}
