import BothyStore

/// One round trip with the server, and what a sync does when the server fails on it or does not take as much.
extension SyncPass {
  /// Sends a request and brings back the answer.
  ///
  /// When the server refuses the request as a whole (400, 413, 422) or fails inside on it, and takes one without its
  /// changes, its halves are sent, and theirs, until the change or group is found on which it fails alone. Costs at
  /// most two round trips for each change, and one to see whether the server takes anything.
  ///
  /// A refusal in the server's own words is about the change. A failure inside is about the change only where the
  /// server answers others: then it stays in doubt, and is sent again as it was. A server that fails on one after the
  /// other and takes none has refused none: its error is thrown, and the next pass begins with other changes.
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
      guard error.isAboutContent, !units.isEmpty, try await takes(parts, &report) else { throw error }
      var halving = Halving(request: parts)
      try await send(units[...], &halving, after: error, &report)
      if halving.outcomes.isEmpty, let end = halving.end { throw end }
      if halving.outcomes.isEmpty && units.count > 1 {
        try await putLast(halving.failed.map(\.unit))
        throw error
      }
      let failed = halving.failed.flatMap { $0.unit.refused($0.error) }
      return SyncResponse(outcomes: halving.outcomes + failed, serverTime: 0)
    }
  }

  /// A request that is sent in parts, and what came of them.
  private struct Halving {
    var request: SyncRequest
    /// What the server said of changes.
    var outcomes: [Outcome] = []
    /// On what the server failed, with nothing else in the request.
    var failed: [(unit: [SyncOperation], error: RemoteError)] = []
    /// What kept the rest from being sent.
    var end: RemoteError?

    /// Whether it names a record on which the server failed: without that one it would be refused.
    func waits(_ unit: [SyncOperation]) -> Bool {
      let ids = Set(failed.flatMap { $0.unit.map(\.id) })
      if unit.contains(where: { $0.after.map(ids.contains) ?? false }) { return true }
      let made = Set(failed.flatMap { $0.unit.map(\.record.id) })
      guard !made.isEmpty else { return false }
      return unit.contains { operation in
        operation.fields.values.contains { value in
          value.stringValue.map(made.contains) ?? value.arrayValue?.contains {
            $0.stringValue.map(made.contains) ?? false
          } ?? false
        }
      }
    }

    /// Whether nothing more is sent: after so many failures and not one answer the server takes no changes now.
    var isOver: Bool { end != nil || outcomes.isEmpty && failed.count >= 4 }
  }

  /// Whether the server takes a request like this one without its changes.
  private func takes(_ request: SyncRequest, _ report: inout SyncReport) async throws -> Bool {
    do {
      _ = try await exchange(request.with([]), &report)
      return true
    } catch is RemoteError { return false }
  }

  /// Sends what was refused together in halves, in their order: what one refers to is sent before it, and what refers to
  /// one that failed is not sent.
  private func send(
    _ units: ArraySlice<[SyncOperation]>, _ halving: inout Halving, after failure: RemoteError,
    _ report: inout SyncReport
  ) async throws {
    guard units.count > 1 else {
      for unit in units {
        if failure.isVerdict {
          halving.outcomes += unit.refused(failure)
        } else {
          halving.failed.append((unit, failure))
        }
      }
      return
    }
    let middle = units.startIndex + units.count / 2
    for part in [units[..<middle], units[middle...]] where !halving.isOver {
      let half = part.filter { !halving.waits($0) }[...]
      if half.isEmpty { continue }
      do {
        halving.outcomes += try await exchange(halving.request.with(half.flatMap(\.self)), &report).outcomes
      } catch let error as RemoteError {
        guard error.isAboutContent else {
          halving.end = error
          return
        }
        try await send(half, &halving, after: error, &report)
      }
    }
  }

  /// Has other changes sent first by the next pass. Nothing is said of these: they wait as before.
  private func putLast(_ units: [[SyncOperation]]) async throws {
    try await store.write(origin: .remote) { transaction in
      for operation in units.joined() { try Outbox.putLast(operation.record, in: transaction) }
    }
  }

  private func exchange(_ request: SyncRequest, _ report: inout SyncReport) async throws -> SyncResponse {
    let sentAt = clock.now()
    let response = try await remote.exchange(request)
    report.requests += 1
    // It is written with what the answer brings.
    _ = clock.sample(serverTime: response.serverTime, sentAt: sentAt, receivedAt: clock.now())
    return response
  }
}

extension RemoteError {
  /// Whether it says of the request that it can't be taken as it is, in the words of the server. A 400 or 422 without
  /// a word of the server's is the page of something between.
  fileprivate var isVerdict: Bool { status == 413 || (status == 400 || status == 422) && code != nil }

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
  fileprivate func with(_ operations: [SyncOperation]) -> SyncRequest {
    var request = self
    request.operations = operations
    return request
  }
}

extension [SyncOperation] {
  fileprivate func refused(_ error: RemoteError) -> [Outcome] {
    let code =
      error.status == 413 ? "tooLarge" : error.isVerdict ? error.code ?? "rejected" : Rejection.serverError
    return map { Outcome(operation: $0.id, .rejected(Rejection(code: code, message: error.message))) }
  }
}

extension SyncPass {
  /// Puts an entry into the inbox, until somebody edits it or decides. Nil, with the change undone, where its caller is
  /// told.
  static func refuse(
    _ entry: OutboxEntry, _ rejection: Rejection, until time: Int64, in transaction: WriteTransaction
  ) throws -> SyncFailure? {
    if entry.isHidden {
      try Outbox.refuse(awaited: entry, rejection, at: time, in: transaction)
      return nil
    }
    let failure = SyncFailure(
      record: entry.record, operation: entry.kind, rejection: rejection, attempts: entry.attempts + 1,
      nextRetry: nil, revision: entry.revision,
      local: try Outbox.localContent(of: entry.record, in: transaction))
    let noted = try Journal.note(failure, at: time, in: transaction)
    try Outbox.postpone(
      entry.record, rejection, noted, until: time, state: .quarantined, in: transaction)
    return failure
  }
}
