import BothyStore

/// One round trip with the server, and what a sync does when the server fails on it or does not take as much.
extension SyncPass {
  /// Sends a request and brings back the answer.
  ///
  /// When the server refuses the request as a whole (400, 413, 422) or fails inside on it, and takes one without its
  /// changes, its halves are sent, and theirs, until the change or group is found that is refused alone. Costs at most
  /// two round trips for each change, and one to see whether the server takes anything. A change on which the server
  /// failed inside stays in doubt, and is sent again as it was.
  ///
  /// When the server fails inside on everything, that is thrown; but where changes under `.discardAndRefetch` were sent,
  /// those of them on which it fails alone count as refused.
  ///
  /// What is sent in parts asks for no pages. Any other error is thrown, once the answers that came are settled.
  func answer(
    to request: SyncRequest, of batch: PushBatch, _ report: inout SyncReport
  ) async throws -> SyncResponse {
    do { return try await exchange(request, &report) } catch let error as RemoteError {
      let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      let units = batch.units.map { $0.compactMap { operations[$0.operation.id] } }
      var parts = request
      parts.pulls = []
      guard !units.isEmpty else { throw error }
      let takesOthers = try await takes(parts, after: error, &report)
      guard takesOthers || error.errorClass == .serverError && request.operations.contains(where: isDiscarded)
      else { throw error }
      var halving = Halving(request: parts, takesOthers: takesOthers)
      try await send(units[...], &halving, after: error, &report)
      if let end = halving.end, halving.outcomes.isEmpty { throw end }
      return SyncResponse(outcomes: halving.outcomes, serverTime: 0)
    }
  }

  /// A request that is sent in parts, and what came of them.
  private struct Halving {
    var request: SyncRequest
    /// Whether the server takes requests without changes: then one that it does not take alone is at fault.
    var takesOthers: Bool
    var outcomes: [Outcome] = []
    /// What kept the rest from being sent.
    var end: RemoteError?
  }

  /// Whether the changes of a request are at fault: the server would take it without them.
  private func takes(
    _ request: SyncRequest, after error: RemoteError, _ report: inout SyncReport
  ) async throws -> Bool {
    if error.isTooLarge { return true }
    guard error.isAboutContent else { return false }
    do {
      _ = try await exchange(request.with([]), &report)
      return true
    } catch is RemoteError { return false }
  }

  /// Sends what was refused together in halves, in their order: what one refers to is sent before it.
  private func send(
    _ units: ArraySlice<[Operation]>, _ halving: inout Halving, after failure: RemoteError,
    _ report: inout SyncReport
  ) async throws {
    guard units.count > 1 else {
      for unit in units where halving.takesOthers || unit.allSatisfy(isDiscarded) {
        halving.outcomes += unit.refused(failure)
      }
      return
    }
    let middle = units.startIndex + units.count / 2
    for half in [units[..<middle], units[middle...]] where halving.end == nil {
      do {
        halving.outcomes += try await exchange(halving.request.with(half.flatMap(\.self)), &report).outcomes
      } catch let error as RemoteError {
        guard error.isAboutContent || error.errorClass == failure.errorClass && !halving.takesOthers else {
          halving.end = error
          return
        }
        try await send(half, &halving, after: error, &report)
      }
    }
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

extension RemoteError {
  fileprivate var isTooLarge: Bool { status == 413 }

  /// Whether what the request carries may be why the server did not take it.
  fileprivate var isAboutContent: Bool {
    if isUnknownCursor || code == "updateRequired" { return false }
    return switch status {
    case 400, 413, 422: true
    case let status?: status >= 500 && errorClass == .serverError
    case nil: false
    }
  }

  /// Whether the server does not know a cursor of the request: its history is another than the one pulled from.
  var isUnknownCursor: Bool { code == "badCursor" }
}

extension SyncRequest {
  fileprivate func with(_ operations: [Operation]) -> SyncRequest {
    var request = self
    request.operations = operations
    return request
  }
}

extension [Operation] {
  fileprivate func refused(_ error: RemoteError) -> [Outcome] {
    let code =
      switch error.status {
      case 413: "tooLarge"
      case 400, 422: error.code ?? "rejected"
      default: Rejection.serverError
      }
    return map { Outcome(operation: $0.id, .rejected(Rejection(code: code, message: error.message))) }
  }
}
