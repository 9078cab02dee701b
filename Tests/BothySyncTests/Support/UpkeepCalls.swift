import BothySyncService
import BothyTesting

extension SimulatedWorld {
  /// Looks after the spaces that are due, as a server does. Returns a report for each.
  func lookAfterDue(_ terms: RetentionPolicy = RetentionPolicy()) async throws -> [RetentionReport] {
    var reports: [RetentionReport] = []
    for due in try await storage.takeDue(at: time.now, limit: 99, lease: 60_000) {
      if let report = try await service.upkeep(due, terms) { reports.append(report) }
    }
    return reports
  }
}
