import BothyStore
import Synchronization

/// The server of one file. Sends the history that the file has followed with each exchange, and accepts no answer of
/// another server or space. A file that is signed out or deleted sends nothing. Limits the time of each call, and notes
/// if an answer arrived.
struct BoundRemote: CompleteRemote {
  let remote: any RemoteStorage
  let store: LocalStore
  let reachability: ReachabilityEstimate
  let clock: SyncClock
  /// The time limit of a call.
  let limit: Duration
  private let known = KnownBinding()

  /// The binding that was last read, for a file that can't be read at the moment.
  private final class KnownBinding: Sendable {
    let last = Mutex(ServerBinding())
  }

  private func binding() async -> ServerBinding {
    guard let binding = try? await store.read({ try ServerBinding.load(in: $0) }) else {
      return known.last.withLock { $0 }  // unreadable: the caller says why, or does without the file
    }
    known.last.withLock { $0 = binding }
    return binding
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    let binding = await binding()
    guard !binding.isSignedOut, !store.file.isGone else { throw Self.signedOut }
    var request = request
    request.history = binding.history
    request.user = request.user ?? binding.owner?.user
    let sent = request
    let response = try await reachability.noting(within: limit, clock) { () throws(RemoteError) in
      try await remote.exchange(sent)
    }
    guard let found = response.history else { return response }
    if let history = binding.history {
      guard history.server == found.server, history.space == found.space else {
        throw RemoteError(.rejected, history.refusal(found), code: Self.otherServer)
      }
      if request.pulls.isEmpty && !history.isContinued(by: found) {
        throw RemoteError(.rejected, "The server's history is another one.", code: Self.otherHistory)
      }
    }
    let isNew = binding.history?.epoch.isEmpty ?? true
    guard isNew && binding.history != found || binding.owner == nil && response.user != nil else {
      return response
    }
    // If this isn't noted, the next answer is.
    try? await store.write(origin: .remote) { try ServerBinding.bind(found, response.user, in: $0) }
    return response
  }

  /// Verifies that the server is the file's own, before records that it lacks count as deleted. One round trip if the
  /// file is bound. Throws `RemoteError`.
  func verify() async throws(RemoteError) {
    guard await binding().history != nil, let device = try? await store.read(Self.device) else { return }
    _ = try await exchange(SyncRequest(device: device, schemaVersion: store.schema.version))
  }

  private static func device(_ transaction: ReadTransaction) throws -> String {
    try SyncValues.value("device", in: transaction) ?? ""
  }

  static let otherServer = "otherServer"
  static let otherHistory = "otherHistory"
  static let signedOutCode = "signedOut"
  private static let signedOut = RemoteError(
    .rejected, "The account of this file was signed out.", code: signedOutCode)

  var isConfidential: Bool { remote.isConfidential }
  var hasNotifications: Bool { remote.hasNotifications }
  var blobs: (any BlobRemote)? { remote.blobs.map { BoundedBlobs(remote: $0, limit: limit, clock: clock) } }

  /// Calls the server in the name of the file, so that an answer about another file's space or user isn't accepted.
  private func asking<Answer: Sendable>(
    _ body: @escaping @Sendable () async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    let binding = await binding()
    guard !binding.isSignedOut, !store.file.isGone else { throw Self.signedOut }
    let answer: Result<Answer, RemoteError> = await FileIdentity.$current.withValue(FileIdentity(binding)) {
      do throws(RemoteError) {
        return .success(try await reachability.noting(within: limit, clock, body))
      } catch {
        return .failure(error)
      }
    }
    return try answer.get()
  }

  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    try await asking { () throws(RemoteError) in try await remote.query(query) }
  }
  func page(_ query: AnyQuery, after cursor: String?) async throws(RemoteError) -> RemotePage {
    try await asking { () throws(RemoteError) in try await remote.page(query, after: cursor) }
  }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await asking { () throws(RemoteError) in try await remote.count(query) }
  }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    try await asking { () throws(RemoteError) in try await remote.digest(scope) }
  }
  func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    try await asking { () throws(RemoteError) in try await remote.digest(scope, parts: parts) }
  }
  func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    try await asking { () throws(RemoteError) in try await remote.stamps(scope, parts: parts, in: chosen) }
  }
  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    try await asking { () throws(RemoteError) in try await remote.history(query) }
  }
  func notifications() -> AsyncThrowingStream<Void, any Error> { remote.notifications() }
}

extension FileIdentity {
  fileprivate init(_ binding: ServerBinding) {
    self.init(
      server: binding.history?.server, space: binding.history?.space, user: binding.owner?.user)
  }
}
