import BothyStore
import Logging

/// What a pass pulls, and what it asks for beside pages.
extension SyncPass {
  /// What a request pulls by what it says.
  func requested(_ request: Request) -> [PullScope] { request.pulls ?? followed.current }

  /// The same with the containers in it that are to be pulled again.
  func pulls(for request: Request) async -> [PullScope] {
    let scopes = requested(request)
    // Unreadable: the exchange will say why.
    let more = try? await store.read { transaction in
      // What was pulled on demand is compared too.
      let isDeciding = try request.isComparing || ServerBinding.isAdopting(in: transaction)
      let pulled = isDeciding && request.pulls == nil ? try PullState.scopes(in: transaction) : []
      return try Refetch.containers(in: scopes, in: transaction) + pulled
    }
    return scopes + (more ?? []).filter { !scopes.contains($0) }
  }

  /// A file that is kept apart asks who is there, and nothing else. Nil once its own server has answered.
  func reasonToStayApart(_ report: inout SyncReport) async -> SkipReason? {
    guard (try? await store.read({ try ServerBinding.load(in: $0).isApart })) ?? false else { return nil }
    do {
      try checkMayGoOn(Request(scope: .both))
      report.requests += 1
      _ = try await remote.exchange(SyncRequest(device: device, schemaVersion: store.schema.version))
      // Not stored, the next sync asks again.
      try? await store.write(origin: .remote) { try ServerBinding.setApart(false, in: $0) }
      return nil
    } catch let error as RemoteError {
      let reason = SkipReason(error)
      if case .otherServer = reason { return .otherServer(ServerHistory.apart) }
      return reason
    } catch { return .cancelled }
  }

  /// Asks for the records that are not known here any more. True if the scopes have to be pulled once more: because some
  /// of what came is newer than what was pulled, or because the server does not answer such questions.
  func refetch(
    _ scopes: [PullScope], _ report: inout SyncReport
  ) async throws -> Bool {
    guard !scopes.isEmpty else { return false }
    let isWhole = followed.current.allSatisfy(scopes.contains)
    let done = try await Refetching(store: store, remote: remote, scopes: scopes, isWhole: isWhole).run()
    report.requests += done.requests
    report.pulled += done.pulled
    if done.needsPull { return true }
    guard done.position > 0 else { return false }
    return try await store.read { transaction in
      try scopes.contains { scope in
        let cursor = try PullState.load(scope, in: transaction).cursor.flatMap(Cursor.init(token:))
        return cursor.map { $0.position < done.position } ?? false
      }
    }
  }

  /// Has the scopes pulled from the start: the server does not know where they were pulled to. False where that can't be
  /// stored.
  func startOver(_ scopes: [PullScope]) async -> Bool {
    // Not stored, the pass ends with the server's error.
    let done: Void? = try? await store.write(origin: .remote) { transaction in
      for scope in scopes { try PullState.reset(scope, in: transaction) }
    }
    return done != nil
  }

  /// After a scope was brought anew: whether it is what the server has.
  func verify(_ scope: PullScope, _ report: inout SyncReport) async throws {
    do { try await compare(scope, &report) } catch let error as RemoteError {
      // The scope has come whole; `repair` can be asked for at any time.
      configuration.logger.notice("A scope was not compared.", metadata: ["reason": "\(error.message)"])
    }
  }

  private func compare(_ scope: PullScope, _ report: inout SyncReport) async throws {
    let cursor = try await store.read { try PullState.load(scope, in: $0).cursor }
    let position = cursor.flatMap { Cursor(token: $0)?.position }
    let found = try await Comparison(store: store, remote: remote, scope: scope, position: position).repair()
    report.requests += found.requests
    report.repaired += found.repaired.count
  }
}
