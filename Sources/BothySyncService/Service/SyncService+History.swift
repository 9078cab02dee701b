import BothyStore

extension SyncService {
  /// The most changes in one answer.
  public static let historyPageLimit = 1000

  /// Returns the last changes with user and time, newest first, of records that the user may see now. A page may have
  /// fewer entries than requested although more follow. Reads one page and the records in it.
  public func history(space: String, principal: Principal, _ query: HistoryQuery) async throws
    -> ChangeHistory
  {
    var query = query
    query.limit = max(1, min(query.limit, Self.historyPageLimit))
    let asked = query
    return try await storage.read(space: space) { storage in
      let viewer = try viewer(principal, in: storage)
      let found = try storage.history(asked)
      let records = try storage.records(found.map(\.record))
      let shown = found.filter { entry in
        guard let record = records[entry.record]?.record else {
          // The record and its tombstone are forgotten. The change is returned if every user may read the type.
          let unknown = ServerRecord(id: entry.record, version: "", modified: 0)
          return rules.shows(unknown, to: viewer)
        }
        return rules.shows(record, to: viewer)
      }
      return ChangeHistory(entries: shown, next: found.count == asked.limit ? found.last?.position : nil)
    }
  }
}

/// The history of a space, and the one that a device expects.
extension SyncService {
  func history(of space: String, _ snapshot: any ServerSnapshot) -> ServerHistory {
    ServerHistory(
      server: storage.identity, space: space, epoch: snapshot.epoch, position: snapshot.head)
  }

  /// Returns true if the present history continues the one that a device knows.
  func goesOn(_ known: ServerHistory, _ here: ServerHistory, _ snapshot: any ServerSnapshot) throws -> Bool {
    try known.isContinued(by: here) && snapshot.has(known.position)
  }

  func tell(_ response: inout SyncResponse, _ history: ServerHistory, _ principal: Principal) {
    response.history = history
    response.principal = principal.name
  }

  /// Throws `SyncServiceError` `.otherServer` for a request to another server or space. Throws `.otherHistory` for
  /// operations of a device that must compare its records first. Requests with pulls alone are answered, because the
  /// device needs their pages for that.
  func check(_ request: SyncRequest, _ space: String, _ snapshot: any ServerSnapshot) throws {
    guard let known = request.history else { return }
    let here = history(of: space, snapshot)
    guard known.server == here.server, known.space == here.space else {
      throw SyncServiceError(.otherServer, known.refusal(here))
    }
    guard !request.operations.isEmpty || request.pulls.isEmpty, try !goesOn(known, here, snapshot)
    else { return }
    throw SyncServiceError(
      .otherHistory,
      "The device knows changes that the space '\(space)' does not have: the server was restored or emptied. "
        + "Pull, and compare, before anything is sent.")
  }
}
