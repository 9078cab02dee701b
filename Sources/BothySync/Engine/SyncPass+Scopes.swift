import BothyStore
import Logging

/// The scopes that a sync pulls, and its requests beside pages.
extension SyncPass {
  /// Returns the scopes that a request names, or all subscribed ones.
  func requested(_ request: Request) -> [SyncScope] { request.pulls ?? followed.current }

  /// Returns the scopes of a request, and the containers in them that must be pulled again.
  func pulls(for request: Request) async -> [SyncScope] {
    let scopes = requested(request)
    // Unreadable: the exchange reports why.
    let more = try? await store.read { transaction in
      // Scopes that were pulled on demand are compared too.
      let isDeciding = try request.isComparing || ServerBinding.isAdopting(in: transaction)
      let pulled = isDeciding && request.pulls == nil ? try PullState.scopes(in: transaction) : []
      return try Refetch.containers(in: scopes, in: transaction) + pulled
    }
    return scopes + (more ?? []).filter { !scopes.contains($0) }
  }

  /// Sends an empty request to see which server answers, for a file that is kept apart. Returns `nil` after its own
  /// server has answered.
  func reasonToStayApart(_ report: inout SyncReport) async -> SyncStop? {
    guard (try? await store.read({ try ServerBinding.load(in: $0).isApart })) ?? false else { return nil }
    do {
      try checkMayGoOn(Request(scope: .both))
      report.requests += 1
      _ = try await remote.exchange(SyncRequest(device: device, schemaVersion: store.schema.version))
      // If this isn't stored, the next sync repeats the request.
      try? await store.write(origin: .remote) { try ServerBinding.setApart(false, in: $0) }
      return nil
    } catch let error as RemoteError {
      let reason = SyncStop(error)
      if case .otherServer = reason { return .otherServer(ServerHistory.apart) }
      return reason
    } catch { return .cancelled }
  }

  /// Requests the records that are missing here. Returns true if the scopes must be pulled once more. That is so if a
  /// fetched record is newer than the last pull, or if the server doesn't support such requests.
  func refetch(
    _ scopes: [SyncScope], _ report: inout SyncReport
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

  /// Has the scopes pulled from the start, because the server doesn't know their cursors. Returns false if that can't
  /// be stored.
  func startOver(_ scopes: [SyncScope]) async -> Bool {
    // If this isn't stored, the sync ends with the server's error.
    let done: Void? = try? await store.write(origin: .remote) { transaction in
      for scope in scopes { try PullState.reset(scope, in: transaction) }
    }
    return done != nil
  }

  /// Compares a scope with the server after it was downloaded again.
  func verify(_ scope: SyncScope, _ report: inout SyncReport) async throws {
    do { try await compare(scope, &report) } catch let error as RemoteError {
      // The scope is complete; `repair` can be called at any time.
      configuration.logger.notice("A scope was not compared.", metadata: ["reason": "\(error.message)"])
    }
  }

  private func compare(_ scope: SyncScope, _ report: inout SyncReport) async throws {
    let cursor = try await store.read { try PullState.load(scope, in: $0).cursor }
    let position = cursor.flatMap { Cursor(token: $0)?.position }
    let found = try await Comparison(store: store, remote: remote, scope: scope, position: position).repair()
    report.requests += found.requests
    report.repaired += found.repaired.count
  }
}
