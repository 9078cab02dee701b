import BothyStore

/// A remote that is called with the names of this device's schema, while the wire has its own. Names change here alone.
/// All local code, and everything in the file, uses the schema's names.
package struct NamingRemote: RemoteStorage {
  private let remote: any RemoteStorage
  private let names: WireNames
  private let schema: StoreSchema

  package init(_ remote: any RemoteStorage, _ schema: StoreSchema) {
    self.remote = remote
    self.schema = schema
    names = WireNames(schema)
  }

  package func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    if names.isPlain { return try await remote.exchange(request) }
    return names.local(try await remote.exchange(names.wire(request)), to: request)
  }

  package func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] {
    let found = try await remote.query(named(query))
    return names.isPlain ? found : found.map(names.local)
  }

  package func count(_ query: AnyQuery) async throws(RemoteError) -> Int {
    try await remote.count(named(query))
  }

  /// A server without a schema can't know that `created` isn't a field of the type, so a mark in front of the name
  /// shows it.
  private func named(_ query: AnyQuery) -> AnyQuery {
    guard let type = schema[query.type] else { return names.wire(query) }
    return names.wire(
      query.renamingFields { name in
        type[name] == nil && QueryField.pseudo(name)?.isMetadata == true && !name.hasPrefix("_")
          ? "_" + name : name
      })
  }

  package func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope)))
  }

  package func digest(_ scope: SyncScope, parts: Int) async throws(RemoteError) -> ScopeDigest {
    names.local(try await remote.digest(names.wire(scope), parts: parts))
  }

  package func stamps(_ scope: SyncScope, parts: Int, in chosen: [Int]) async throws(RemoteError)
    -> [RecordStamp]?
  {
    try await remote.stamps(names.wire(scope), parts: parts, in: chosen)?.map { stamp in
      var stamp = stamp
      stamp.id = names.local(stamp.id)
      return stamp
    }
  }

  package func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory {
    names.local(try await remote.history(names.wire(query)))
  }

  package var isConfidential: Bool { remote.isConfidential }
  package var givesHints: Bool { remote.givesHints }
  package var blobs: (any BlobRemote)? { remote.blobs }
  package func hints() -> AsyncThrowingStream<Void, any Error> { remote.hints() }
}
