import BothyStore

extension Authority {
  /// The most changes in one answer.
  public static let historyPageLimit = 1000

  /// Who changed what and when, newest first, of records that the principal may see now. A page may hold fewer entries
  /// than asked for, and more follow all the same. Reads one page and the records in it.
  public func history(space: String, principal: Principal, _ query: HistoryQuery) async throws
    -> ChangeHistory
  {
    var query = query
    query.limit = max(1, min(query.limit, Self.historyPageLimit))
    let asked = query
    return try await ledger.read(space: space) { ledger in
      let viewer = try viewer(principal, in: ledger)
      let found = try ledger.history(asked)
      let records = try ledger.records(found.map(\.record))
      let shown = found.filter { entry in
        guard let record = records[entry.record]?.record else {
          // Forgotten, tombstone and all: told where everybody may read the type.
          let unknown = ServerRecord(id: entry.record, version: "", modified: 0)
          return rules.shows(unknown, to: viewer)
        }
        return rules.shows(record, to: viewer)
      }
      return ChangeHistory(entries: shown, next: found.count == asked.limit ? found.last?.position : nil)
    }
  }
}

/// The history that a space has, and the one that a device expects.
extension Authority {
  func history(of space: String, _ snapshot: any LedgerSnapshot) -> ServerHistory {
    ServerHistory(
      server: ledger.identity, space: space, epoch: snapshot.epoch, position: snapshot.head)
  }

  /// True if what is here goes on from what a device knows.
  func goesOn(_ known: ServerHistory, _ here: ServerHistory, _ snapshot: any LedgerSnapshot) throws -> Bool {
    try known.isContinued(by: here) && snapshot.has(known.position)
  }

  func tell(_ response: inout SyncResponse, _ history: ServerHistory, _ principal: Principal) {
    response.history = history
    response.principal = principal.name
  }

  /// Throws `AuthorityError` `.otherServer` for a request that is meant for another server or space, and `.otherHistory`
  /// for operations of a device that has to compare what it has first. Pulls alone are answered: they bring what to
  /// compare with.
  func check(_ request: SyncRequest, _ space: String, _ snapshot: any LedgerSnapshot) throws {
    guard let known = request.history else { return }
    let here = history(of: space, snapshot)
    guard known.server == here.server, known.space == here.space else {
      throw AuthorityError(.otherServer, known.refusal(here))
    }
    guard !request.operations.isEmpty || request.pulls.isEmpty, try !goesOn(known, here, snapshot)
    else { return }
    throw AuthorityError(
      .otherHistory,
      "The device knows changes that the space '\(space)' does not have: the server was restored or emptied. "
        + "Pull, and compare, before anything is sent.")
  }
}
