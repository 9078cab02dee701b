import BothyStore
import BothySync

/// The state of each container: its cursor, its last pull, its pending entries, and the process that syncs.
struct Containers {
  struct Row {
    var status: StoreSubscriptions.ScopeStatus
    var isFollowed: Bool
    var isSyncing: Bool
    /// The number of pending entries in the container.
    var pending: Int
  }

  let rows: [Row]
  let lease: LeaseHolder?
  let needingSync: [String]

  init(_ store: SyncedStore) throws {
    let begun = try store.containers()
    let pending = try store.pendingByContainer()
    let followed = store.followedScopes
    let syncing = store.status
    let known = Set(begun.map(\.scope))
    let notBegun = followed.filter { !known.contains($0) }.map {
      StoreSubscriptions.ScopeStatus(notBegun: $0)
    }
    rows = (begun + notBegun).map { status in
      Row(
        status: status, isFollowed: followed.contains(status.scope),
        isSyncing: syncing.isSyncing(status.scope.container),
        pending: pending.reduce(0) { status.scope.contains($1.key) ? $0 + $1.value : $0 })
    }
    lease = try store.leaseHolder()
    needingSync = try store.containersNeedingSync()
  }

  func write(to writer: inout JSONWriter) {
    writer.list("containers", rows) { writer, row in
      row.status.writeMembers(to: &writer)
      writer.member("filling", row.status.isFilling)
      writer.member("followed", row.isFollowed)
      writer.member("syncing", row.isSyncing)
      writer.member("pending", row.pending)
    }
    writer.object("lease", lease) { $1.writeMembers(to: &$0) }
    writer.names("needingSync", needingSync)
  }
}
