@_spi(Benchmarks) import BothyStore
@_spi(Benchmarks) import BothySync

/// Returns a session of Bothy's calls. If the type is synced, each write adds an outbox entry, as in an app. The
/// session sends nothing.
@inline(__always)
func bothySession<Plain: ItemEntity, Indexed: ItemEntity>(
  _ data: Dataset, _ path: String, _ type: Plain.Type, _ indexedType: Indexed.Type
) throws -> Session {
  let schema = StoreSchema(types: [Plain.schema, Indexed.schema])
  let isSynced = Plain.self == SyncedItem.self
  let synced = isSynced ? try SyncedStore(at: path, schema: schema, remote: NoRemote()) : nil
  let store = try synced?.localFile ?? LocalStore(at: path, schema: schema)
  let items = data.items.map(Plain.init)
  let indexed = data.items.map(Indexed.init)
  let singles = data.singles.map(Plain.init)
  let updates = data.updates.map(Plain.init)
  let shuffledIDs = data.shuffled.map(\.id)
  let updateIDs = data.updates.map(\.id)
  let deletions = data.deletions.map(\.id)
  let count = Field<Int>("count")
  let filter = count >= data.range.lowerBound && count < data.range.upperBound
  let byName = Field<String>("name").ascending
  return Session(
    insert: {
      try store.write { transaction in for item in items { try transaction.insert(item) } }
      return items.count
    },
    fillIndexed: {
      try store.write { transaction in for item in indexed { try transaction.insert(item) } }
      return indexed.count
    },
    insertEach: {
      for item in singles { try store.write { try $0.insert(item) } }
      return singles.count
    },
    readAll: {
      try store.read { transaction in
        try shuffledIDs.reduce(0) { try transaction.fetch(Plain.self, id: $1) == nil ? $0 : $0 + 1 }
      }
    },
    readOne: { try updateIDs.reduce(0) { try store.lookUp(Plain.self, id: $1) == nil ? $0 : $0 + 1 } },
    scan: { try store.read { try $0.fetch(Plain.all.inAnyOrder()).count } },
    query: {
      try store.read { try $0.fetch(Plain.where { _ in filter }.order { _ in byName }).count }
    },
    queryIndexed: {
      try store.read { try $0.fetch(Indexed.where { _ in filter }.order { _ in byName }).count }
    },
    update: {
      try store.write { transaction in for item in updates { try transaction.update(item) } }
      return updates.count
    },
    delete: {
      try store.write { transaction in
        try deletions.reduce(0) { try transaction.delete(Plain.self, id: $1) ? $0 + 1 : $0 }
      }
    },
    close: { try store.close() })
}

/// A server that is never reachable.
struct NoRemote: RemoteStorage {
  private var unreachable: RemoteError { RemoteError(.unreachable, "There is no server.") }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { throw unreachable }
}
