import BothyStore

/// One round trip with the server, and what a sync does when the server fails on it or does not take as much.
extension SyncPass {
  /// Sends a request and brings back the answer.
  ///
  /// When the server fails inside on it, and changes under `.discardAndRefetch` were sent, each change or group is
  /// sent once more by itself: those that the server takes are answered, one of a discarding type on which it fails
  /// alone counts as refused with the code `serverError`, and what is left stays in doubt. Costs a round trip for each
  /// change of the batch then, else one.
  ///
  /// When the request is too large for the server (413, RFC 9110 §15.5.14) its halves are sent, and theirs; a change
  /// or group that is too large alone counts as refused with the code `tooLarge`. Costs at most two round trips for
  /// each change.
  ///
  /// What is sent in parts asks for no pages. Any other error is thrown.
  func answer(
    to request: SyncRequest, of batch: PushBatch, _ report: inout SyncReport
  ) async throws -> SyncResponse {
    do { return try await exchange(request, &report) } catch let error as RemoteError {
      let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
      let units = batch.units.map { $0.compactMap { operations[$0.operation.id] } }
      var parts = request
      parts.pulls = []
      var whole = SyncResponse(serverTime: 0)
      if error.isTooLarge, !units.isEmpty {
        whole.outcomes = try await halves(of: units[...], of: parts, after: error, &report)
      } else if error.errorClass == .serverError, request.operations.contains(where: isDiscarded) {
        whole.outcomes = try await singles(units, of: parts, after: error, &report)
      } else {
        throw error
      }
      return whole
    }
  }

  private func singles(
    _ units: [[Operation]], of request: SyncRequest, after failure: RemoteError, _ report: inout SyncReport
  ) async throws -> [Outcome] {
    var outcomes: [Outcome] = []
    for unit in units {
      do {
        // What becomes of one that was alone is known already.
        if units.count == 1 { throw failure }
        outcomes += try await exchange(request.with(unit), &report).outcomes
      } catch let error as RemoteError {
        guard error.errorClass == .serverError else { throw error }
        if unit.allSatisfy(isDiscarded) { outcomes += unit.refused("serverError", error) }
      }
    }
    return outcomes
  }

  /// The outcomes of units that were too large together, in their order: what one refers to is sent before it.
  private func halves(
    of units: ArraySlice<[Operation]>, of request: SyncRequest, after failure: RemoteError,
    _ report: inout SyncReport
  ) async throws -> [Outcome] {
    guard units.count > 1 else { return units.flatMap { $0.refused("tooLarge", failure) } }
    let middle = units.startIndex + units.count / 2
    var outcomes: [Outcome] = []
    for half in [units[..<middle], units[middle...]] {
      do {
        outcomes += try await exchange(request.with(half.flatMap(\.self)), &report).outcomes
      } catch let error as RemoteError where error.isTooLarge {
        outcomes += try await halves(of: half, of: request, after: error, &report)
      }
    }
    return outcomes
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
}

extension SyncRequest {
  fileprivate func with(_ operations: [Operation]) -> SyncRequest {
    var request = self
    request.operations = operations
    return request
  }
}

extension [Operation] {
  fileprivate func refused(_ code: String, _ error: RemoteError) -> [Outcome] {
    map { Outcome(operation: $0.id, .rejected(Rejection(code: code, message: error.message))) }
  }
}
