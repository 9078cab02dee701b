import BothyStore

/// A request in parts, for a server that fails on the whole of it or doesn't accept it.
extension SyncRunner {
  /// Sends a request in parts after the server has refused it, and returns their answers, with the error that kept the
  /// rest from being sent.
  ///
  /// The server may refuse the whole request (400, 413, 422) or fail inside on it, and yet accept one without its
  /// changes. Then the request is halved again and again, until the change or group is found on which the server fails
  /// alone. This costs at most two round trips for each change, and one to test if the server accepts anything.
  ///
  /// A refusal in the server's own words concerns the change. A failure inside concerns the change only if the server
  /// answers others. Such a change stays in doubt and is sent again unchanged. A server that fails on one change after
  /// another and accepts none has rejected none. Its error is thrown, and the next sync begins with other changes.
  ///
  /// Requests that are sent in parts have no pulls. The caller throws any other error after the answers that arrived are
  /// settled.
  func halved(
    _ request: SyncRequest, of batch: PushBatch, after error: RemoteError, _ report: inout SyncReport
  ) async throws -> (SyncResponse, end: RemoteError?) {
    let operations = Dictionary(request.operations.map { ($0.id, $0) }, uniquingKeysWith: { $1 })
    let units = batch.units.map { $0.compactMap { operations[$0.operation.id] } }
    var parts = request
    parts.pulls = []
    guard error.isAboutContent, !units.isEmpty, try await takes(parts, after: error, &report) else {
      throw error
    }
    var halving = Halving(request: parts)
    try await send(units[...], &halving, after: error, &report)
    if halving.outcomes.isEmpty, let end = halving.end { throw end }
    if halving.outcomes.isEmpty && units.count > 1 {
      try await putLast(halving.failed.map(\.unit))
      throw error
    }
    let failed = halving.failed.flatMap { $0.unit.refused($0.error) }
    // They wait as in one request. One that the server may have made, now or before, stays in doubt.
    let sentBefore = Set(batch.items.filter(\.isInDoubt).map(\.operation.id))
    let waiting = halving.left.filter { left in
      !left.mayBeMade && !left.unit.contains { sentBefore.contains($0.id) }
    }
    .flatMap { left in left.unit.map { Outcome(operation: $0.id, .waiting(on: left.on)) } }
    var response = SyncResponse(outcomes: halving.outcomes + failed + waiting, serverTime: 0)
    response.user = halving.user
    return (response, halving.end)
  }

  /// A request that is sent in parts, and its results.
  private struct Halving {
    var request: SyncRequest
    /// The server's outcomes of changes.
    var outcomes: [Outcome] = []
    /// The changes on which the server failed, with nothing else in the request.
    var failed: [(unit: [SyncOperation], error: RemoteError)] = []
    /// The error that kept the rest from being sent.
    var end: RemoteError?
    /// The server's name for the sender, which owns the records created.
    var user: String?
    /// The changes that aren't sent, because each needs the operation `on`, which the server hasn't made.
    var left: [(unit: [SyncOperation], on: String, mayBeMade: Bool)] = []

    /// Leaves out the changes of a part that need one which the server hasn't made: it failed on that one, has refused
    /// it, or that one waits for another. Sent without it, they are rejected. Returns the others.
    ///
    /// - Parameter mayBeMade: true if the server failed on a request with the part, and so may have made it.
    mutating func leavingOut(
      _ part: ArraySlice<[SyncOperation]>, _ mayBeMade: Bool
    ) -> ArraySlice<[SyncOperation]> {
      let refused = Set(outcomes.filter(\.verdict.isRefusal).map(\.operation))
      var unmade = Unmade()
      for unit in failed.map(\.unit) + left.map(\.unit) { unmade.add(unit) }
      unmade.add(request.operations.filter { refused.contains($0.id) })
      var half: [[SyncOperation]] = []
      for unit in part {
        if let on = unmade.needed(by: unit) {
          left.append((unit, on, mayBeMade))
          unmade.add(unit)
        } else {
          half.append(unit)
        }
      }
      return half[...]
    }

    /// True if nothing more is sent. After several failures without one answer, the server accepts no changes now.
    var isOver: Bool { end != nil || outcomes.isEmpty && failed.count >= 4 }
  }

  /// Operations that the server hasn't made.
  private struct Unmade {
    private var ids: Set<String> = []
    /// The operations that create records, by the records' ids.
    private var records: [String: String] = [:]

    mutating func add(_ operations: [SyncOperation]) {
      for operation in operations {
        ids.insert(operation.id)
        if operation.kind == .insert { records[operation.record.id] = operation.id }
      }
    }

    /// Returns one that a unit is stacked on or refers to, or `nil`.
    func needed(by unit: [SyncOperation]) -> String? {
      for operation in unit {
        if let after = operation.after, ids.contains(after) { return after }
        if records.isEmpty { continue }
        for value in operation.fields.values {
          let names = value.stringValue.map { [$0] } ?? value.arrayValue?.compactMap(\.stringValue) ?? []
          if let found = names.lazy.compactMap({ records[$0] }).first { return found }
        }
      }
      return nil
    }
  }

  /// Returns true if the server accepts such a request without its changes. Throws the error of a server that doesn't
  /// answer any more or is too busy, after a failure that leaves no doubt.
  private func takes(
    _ request: SyncRequest, after failure: RemoteError, _ report: inout SyncReport
  ) async throws -> Bool {
    do {
      _ = try await exchange(request.with([]), &report)
      return true
    } catch let error as RemoteError {
      guard failure.leavesDoubt || error.isAboutContent else { throw error }
      return false
    }
  }

  /// Sends the changes of a refused request in halves, in order. A change is sent after the records that it refers to.
  /// A change that needs one which was refused or failed isn't sent.
  private func send(
    _ units: ArraySlice<[SyncOperation]>, _ halving: inout Halving, after failure: RemoteError,
    mayBeMade: Bool = false, _ report: inout SyncReport
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
    let mayBeMade = mayBeMade || failure.leavesDoubt
    let middle = units.startIndex + units.count / 2
    for part in [units[..<middle], units[middle...]] where !halving.isOver {
      let half = halving.leavingOut(part, mayBeMade)
      if half.isEmpty { continue }
      do {
        let answer = try await exchange(halving.request.with(half.flatMap(\.self)), &report)
        halving.outcomes += answer.outcomes
        halving.user = answer.user
      } catch let error as RemoteError {
        guard error.isAboutContent else {
          halving.end = error
          continue
        }
        try await send(half, &halving, after: error, mayBeMade: mayBeMade, &report)
      }
    }
    // The server may have made them with the request that it failed on, whatever it says to their repetition.
    if halving.end != nil && failure.leavesDoubt { try await putLast(Array(units)) }
  }

  /// Has the next sync send other changes first. These changes wait as before, and count as sent again.
  private func putLast(_ units: [[SyncOperation]]) async throws {
    try await store.write(origin: .remote) { transaction in
      for operation in units.joined() { try OutboxQueue.putLast(operation.record, in: transaction) }
    }
  }
}

extension RemoteError {
  /// True if the server itself refused the request as it is. A 400 or 422 without a code of the server comes from an
  /// intermediary.
  fileprivate var isVerdict: Bool { status == 413 || (status == 400 || status == 422) && code != nil }

  /// True if the content of the request may be the reason why the server refused it.
  fileprivate var isAboutContent: Bool {
    if isUnknownCursor || code == "updateRequired" { return false }
    return switch status {
    case 400, 413, 422: true
    case let status?: status >= 500 && errorClass == .serverError
    case nil: false
    }
  }

  /// True if the server doesn't know a cursor of the request, because its history differs from the pulled one.
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
    // The server has to take a transaction in one request.
    let cure =
      code == "tooLarge" && count > 1
      ? " These \(count) changes were written together, as one transaction, and are sent in one request. Raise the "
        + "server's limit, or undo them and write them in smaller transactions."
      : ""
    return map { Outcome(operation: $0.id, .rejected(Rejection(code: code, message: error.message + cure))) }
  }
}

extension Outcome.Verdict {
  /// True if the server has not made the change, and has no version of its own in the way.
  fileprivate var isRefusal: Bool {
    switch self {
    case .rejected, .waiting: true
    case .applied, .duplicate, .conflict: false
    }
  }
}
