import Synchronization

/// The kind of work of a request. Each kind has slots and a line of its own, so that none waits for another.
enum RequestKind: String, Sendable, CaseIterable {
  /// Pulls and other short reads.
  case pull
  /// Pushes and other writes.
  case push
  /// Queries and other long reads, which end when their caller leaves.
  case query
}

/// The slots of requests by kind, on all storages.
final class RequestTurns: Sendable {
  private let pulls: Turns
  private let pushes: Turns
  private let queries: Turns

  /// The most queries of one user that may wait.
  static let queryLine = 64

  /// - Parameter isShared: true if tokens distinguish users. Otherwise all callers are one user, without a share.
  init(_ limits: ServerConfiguration.Limits, isShared: Bool) {
    func turns(_ width: Int, share: Int, line: Int) -> Turns {
      Turns(width: width, share: isShared ? share : width, line: line)
    }
    let (share, line, queries) = (limits.principalConcurrency, limits.waiting, limits.queryConcurrency)
    pulls = turns(limits.concurrency, share: share, line: line)
    pushes = turns(limits.pushConcurrency, share: share, line: line)
    self.queries = turns(queries, share: max(1, queries / 2), line: min(line, Self.queryLine))
  }

  func turns(_ kind: RequestKind) -> Turns {
    switch kind {
    case .pull: pulls
    case .push: pushes
    case .query: queries
    }
  }

  /// Runs `body` when a slot of the kind is free. Throws like `Turns.begin`.
  func taking<Result>(
    _ kind: RequestKind, _ user: String, _ body: (Turn) async throws -> Result
  ) async throws -> Result {
    let turn = Turn(self, user)
    try await turn.move(to: kind)
    defer { turn.end() }
    return try await body(turn)
  }

  /// The slot of one request.
  final class Turn: Sendable {
    private let turns: RequestTurns
    private let user: String
    private let kind = Mutex<RequestKind?>(nil)

    fileprivate init(_ turns: RequestTurns, _ user: String) {
      self.turns = turns
      self.user = user
    }

    /// Changes the kind of the request: frees its slot, and waits for one of `new`. Throws like `Turns.begin`.
    func move(to new: RequestKind) async throws {
      if kind.withLock({ $0 }) == new { return }
      end()
      try await turns.turns(new).begin(user)
      kind.withLock { $0 = new }
    }

    /// Changes the kind of the request if a slot of `new` is free now. Otherwise returns false and changes nothing.
    func moveNow(to new: RequestKind) -> Bool {
      if kind.withLock({ $0 }) == new { return true }
      guard turns.turns(new).beginNow(user) else { return false }
      end()
      kind.withLock { $0 = new }
      return true
    }

    fileprivate func end() {
      let old = kind.withLock { kind in
        defer { kind = nil }
        return kind
      }
      if let old { turns.turns(old).end(user) }
    }
  }
}
