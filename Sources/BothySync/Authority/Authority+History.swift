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
