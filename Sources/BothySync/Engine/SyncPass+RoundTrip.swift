import BothyStore

/// One round trip with the server, and what a sync does when the server fails inside.
extension SyncPass {
  /// Sends a request and brings back the answer. When the server fails inside on it, and changes under
  /// `.discardAndRefetch` were sent, each change or group is sent once more by itself, without asking for pages: those that
  /// the server takes are answered, one of a discarding type on which it fails alone counts as refused with the code
  /// `serverError`, and what is left stays in doubt. Any other error is thrown. Costs a round trip for each change of
  /// the batch then, else one.
  func answer(
    to request: SyncRequest, of batch: PushBatch, _ report: inout SyncReport
  ) async throws -> SyncResponse {
    let failure: RemoteError
    do { return try await exchange(request, &report) } catch let error as RemoteError {
      guard error.errorClass == .serverError, batch.items.contains(where: { isDiscarded($0.operation) })
      else {
        throw error
      }
      failure = error
    }
    let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let units = batch.units
    var whole = SyncResponse(serverTime: 0)
    for unit in units {
      var single = request
      single.pulls = []
      single.operations = unit.compactMap { operations[$0.operation.id] }
      do {
        // What becomes of one that was alone is known already.
        if units.count == 1 { throw failure }
        whole.outcomes += try await exchange(single, &report).outcomes
      } catch let error as RemoteError {
        guard error.errorClass == .serverError else { throw error }
        guard single.operations.allSatisfy(isDiscarded) else { continue }
        let rejection = Rejection(code: "serverError", message: error.message)
        whole.outcomes += single.operations.map { Outcome(operation: $0.id, .rejected(rejection)) }
      }
    }
    return whole
  }

  private func exchange(_ request: SyncRequest, _ report: inout SyncReport) async throws -> SyncResponse {
    let sentAt = clock.now()
    let response = try await remote.exchange(request)
    report.requests += 1
    if let estimate = clock.sample(
      serverTime: response.serverTime, sentAt: sentAt, receivedAt: clock.now())
    {
      try await store.write(origin: .remote) { try SyncValues.save(estimate, in: $0) }
    }
    return response
  }

  private func isDiscarded(_ operation: Operation) -> Bool {
    configuration.rejectionPolicy(for: operation.record.type) == .discardAndRefetch
  }
}
