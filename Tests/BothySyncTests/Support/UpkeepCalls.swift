import BothySyncService
import BothyTesting

extension LedgerUpkeep {
  /// Acknowledges one scope in the space's present epoch.
  func acknowledge(
    space: String, device: String, scope: String, position: Int64, at time: Int64
  ) async throws {
    let epoch = try await read(space: space) { $0.epoch }
    let progress = DeviceProgress(scope: scope, position: position, epoch: epoch)
    _ = try await acknowledge(space: space, device: device, [progress], at: time)
  }
}

extension SimulatedWorld {
  /// Looks after the spaces that are due, as a server does. Returns a report for each.
  func lookAfterDue(_ terms: UpkeepTerms = UpkeepTerms()) async throws -> [UpkeepReport] {
    var reports: [UpkeepReport] = []
    for due in try await ledger.takeDue(at: time.now, limit: 99, lease: 60_000) {
      if let report = try await service.upkeep(due, terms) { reports.append(report) }
    }
    return reports
  }
}
