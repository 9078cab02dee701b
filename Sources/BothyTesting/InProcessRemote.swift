package import BothyStore
public import BothySync
public import BothySyncService
import Foundation

/// A server in this process. Every request and response is converted to JSON and back, as over a network.
///
/// A request costs the transactions of `SyncService` and no waits on a network. It has no tokens and no notifications,
/// so a running `SyncedStore.run()` polls if `SyncOptions.pollInterval` is set. May be used from any task, by several
/// stores.
///
/// ```swift
/// let world = try SimulatedWorld()
/// let store = try SyncedStore(at: nil, schema: [Todo.self], remote: InProcessRemote(world.service))
/// ```
public struct InProcessRemote: RemoteStorage, CompleteRemote {
  private let current: @Sendable () -> SyncService
  /// The space of every request.
  package let space: String
  /// The user that the server assumes for the device. Tokens don't exist here.
  package let user: Caller
  /// Receives each exchange that the server has executed, even if its response is lost.
  package var onExchange: @Sendable (SyncRequest, SyncResponse) -> Void = { _, _ in }

  /// Creates a remote for a server that stays the same.
  ///
  /// - Parameters:
  ///   - service: the server. Later changes of `rules` in the caller's copy have no effect here.
  ///   - space: the space of every request. Its first write creates it.
  ///   - user: the user of every request, without a check.
  public init(_ service: SyncService, space: String = "test", user: Caller = Caller("tester")) {
    self.init(space: space, user: user) { service }
  }

  /// - Parameter current: returns the server for each request, so its rules may change.
  package init(
    space: String = "test", user: Caller = Caller("tester"),
    current: @escaping @Sendable () -> SyncService
  ) {
    self.current = current
    self.space = space
    self.user = user
  }

  /// The server as it is now.
  package var service: SyncService { current() }

  /// Has the server execute the request, and returns its response.
  ///
  /// - Throws: `RemoteError` `rejected` with the code of the `SyncServiceError` if the request is refused as a whole.
  ///   `throttled` if a rule for writes can't decide, and `serverError` for errors of the storage.
  public func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    try await mapped {
      let received = try SyncRequest(decoding: request.encoded())
      let answer = try await service.sync(space: space, user: user, received)
      onExchange(received, answer)
      return try SyncResponse(decoding: answer.encoded())
    }
  }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await mapped {
      var records: [ServerRecord] = []
      var page = query
      var cursor: String?
      while true {
        let found = try await service.queryPage(space: space, user: user, page, after: cursor)
        records = records.adding(found.records)
        guard found.more, !found.records.isEmpty else { return records }
        cursor = found.next
        page.offset = query.offset + records.count
        page.limit = query.limit.map { max(0, $0 - records.count) }
      }
    }
  }

  package func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try await mapped {
      let page = try await service.queryPage(space: space, user: user, query, after: cursor)
      return RemotePage(page.records, next: page.next, more: page.more)
    }
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await mapped { try await service.count(space: space, user: user, query) }
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await mapped { try await service.digest(space: space, user: user, scope) }
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await mapped { try await service.digest(space: space, user: user, scope, parts: parts) }
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    try await mapped {
      try await service.stamps(space: space, user: user, scope, parts: parts, in: chosen)
    }
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try await mapped { try await service.history(space: space, user: user, query) }
  }

  package func joinedLists() async throws(RemoteError) -> [JoinedList] {
    try await mapped { try await service.joinedLists(space: space, user: user) }
  }

  package var hasNotifications: Bool { false }

  /// The blobs of the space, if the authority keeps any.
  package var blobs: (any BlobRemote)? { service.blobs == nil ? nil : InProcessBlobs(remote: self) }

  func mapped<Value>(_ body: () async throws -> Value) async throws(RemoteError) -> Value {
    do {
      if let file = FileIdentity.current { try service.check(file, space: space, user: user) }
      return try await body()
    } catch let error as SyncServiceError {
      let status = [.tooManyOperations, .answerTooLarge].contains(error.code) ? 413 : 400
      throw RemoteError(.rejected, error.message, status: status, code: error.code.rawValue)
    } catch is WriteRuleUnavailable {
      throw RemoteError(
        .throttled, "The server can't decide about changes at the moment.", status: 503,
        retryAfter: Double(WriteRuleUnavailable.retryAfter), code: "undecided")
    } catch let error as BlobError {
      throw RemoteError(
        error.code == .notFound ? .notFound : .rejected, error.message, code: error.code.rawValue)
    } catch let error as BothyError where [.unknownType, .unknownField, .invalidQuery].contains(error.code) {
      throw RemoteError(.rejected, error.message, status: 400, code: "badQuery")
    } catch {
      throw RemoteError(.serverError, "\(error)", status: 500)
    }
  }
}

/// The blob side of an `InProcessRemote`.
private struct InProcessBlobs: BlobRemote {
  let remote: InProcessRemote

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await remote.mapped { try await remote.service.blobHolding(space: remote.space, sha256) }
  }

  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await remote.mapped { try await remote.service.verifiedBlobHolding(space: remote.space, sha256) }
  }

  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    try await remote.mapped { try await remote.service.uploadBlob(space: remote.space, part) }
  }

  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    try await remote.mapped {
      try await remote.service.downloadBlob(space: remote.space, sha256, range)
    }
  }

  /// Leads nowhere: the server is in this process.
  func url(of sha256: String) -> URL {
    let name = remote.space.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
    return URL(string: "http://in-process.invalid/v1/spaces/\(name)/blobs/\(sha256)")
      ?? URL(fileURLWithPath: "/dev/null")
  }
}
