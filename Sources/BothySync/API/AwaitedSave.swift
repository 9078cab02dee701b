import BothyStore

/// Sending one write and waiting for its verdict.
extension SyncedStore {
  /// Sends the write of a receipt and waits for the verdict, at most for `limit`. Returns the reason if none came.
  func settle<Value>(_ receipt: SaveReceipt<Value>, within limit: Duration) async throws -> (
    SaveOutcome, BothyError?
  ) {
    guard let revision = receipt.revision, receipt.known != .draft else { return (receipt.known, nil) }
    let id = receipt.record
    if let verdict = try verdict(on: id, revision) { return (verdict, nil) }
    let problem = await push(id, within: limit)
    if let outcome = try outcome(of: id, revision) { return (outcome, nil) }
    if Task.isCancelled {
      let message =
        "Waiting for the server's verdict on \(id) was cancelled. The change is kept here. The next sync sends it."
      return (.pending, BothyError(.cancelled, message, record: id))
    }
    if configuration.triggers.contains(.save) { engine.ask() }
    let waits = BothyError(
      .pendingChanges, "\(id) waits for other changes that must be sent before it. The next sync sends it.",
      record: id)
    return (.pending, problem ?? waits)
  }

  /// Sends one record. Returns the reason if that is impossible.
  private func push(_ id: RecordID) async -> BothyError? {
    let report = await engine.push([id])
    if let reason = report.stop { return BothyError(reason) }
    guard let isLeft = try? isPending(id), isLeft, report.failures.isEmpty else { return nil }
    // It refers to something that must be sent first.
    return await engine.push(nil).stop.map { BothyError($0) }
  }

  private func push(_ id: RecordID, within limit: Duration) async -> BothyError? {
    let clock = configuration.clock
    let problem = await Bounded.run(within: limit, sleep: { try await clock.sleep(for: $0) }) {
      await self.push(id)
    }
    if let problem { return problem }
    if Task.isCancelled { return BothyError(SyncStop.cancelled) }
    return BothyError(.unreachable, "The server did not answer in time. The next sync sends the change.")
  }
}
