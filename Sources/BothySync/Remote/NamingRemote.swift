import BothyStore

/// A remote that is spoken to with the names of this device's schema, while the wire has its own: the one place where
/// names change. Everything behind it, and everything in the file, is called as the schema calls it.
struct NamingRemote: RemoteStorage {
  private let remote: any RemoteStorage
  private let names: WireNames

  /// The remote itself, where all names are the same.
  static func naming(_ remote: any RemoteStorage, _ schema: Schema) -> any RemoteStorage {
    let names = WireNames(schema)
    return names.isPlain ? remote : NamingRemote(remote: remote, names: names)
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    names.local(try await remote.exchange(names.wire(request)), to: request)
  }

  func query(_ query: RecordQuery) async throws(RemoteError) -> [ServerRecord] {
    try await remote.query(names.wire(query)).map(names.local)
  }

  func count(_ query: RecordQuery) async throws(RemoteError) -> Int {
    try await remote.count(names.wire(query))
  }

  func digest(_ scope: PullScope) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope)))
  }

  func digest(_ scope: PullScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope), parts: parts))
  }

  func stamps(_ scope: PullScope, parts: Int, in chosen: [Int]) async throws(RemoteError) -> [RecordStamp]? {
    try await remote.stamps(names.wire(scope), parts: parts, in: chosen)?.map { stamp in
      var stamp = stamp
      stamp.id = names.local(stamp.id)
      return stamp
    }
  }

  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    names.local(try await remote.history(names.wire(query)))
  }

  var isConfidential: Bool { remote.isConfidential }
  var givesHints: Bool { remote.givesHints }
  var blobs: (any BlobRemote)? { remote.blobs }
  func hints() -> AsyncThrowingStream<Void, any Error> { remote.hints() }
}
