import BothyStore

extension SyncService {
  /// The most changes in one answer.
  ///
  /// A request for more gets this number, and one for less than 1 gets 1.
  public static let historyPageLimit = 1000

  /// The number of remembered changes that are read at a time.
  private static let historyPiece = 200

  /// Returns the last changes with user and time, newest first, of records that the user may see now. Reads remembered
  /// changes until the page has enough visible ones. Hidden ones neither count nor end a page.
  package func history(space: String, user: Caller, _ query: HistoryQuery) async throws
    -> ChangeHistory
  {
    let limit = max(1, min(query.limit, Self.historyPageLimit))
    return try await storage.search(space: space, within: rules.queryTime) { storage in
      let viewer = try viewer(user, in: storage)
      var query = query
      query.limit = max(limit + 1, Self.historyPiece)
      var shown: [HistoryEntry] = []
      while true {
        let found = try storage.history(query)
        let visible = try visibleIDs(among: found.map(\.record), to: viewer, in: storage)
        shown += found.filter { visible.contains($0.record) }
        guard shown.count <= limit, found.count == query.limit, let last = found.last else { break }
        query.before = last.position
      }
      let page = Array(shown.prefix(limit))
      return ChangeHistory(entries: page, next: shown.count > limit ? page.last?.position : nil)
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

  func tell(_ response: inout SyncResponse, _ history: ServerHistory, _ user: Caller) {
    response.history = history
    response.user = user.name
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
