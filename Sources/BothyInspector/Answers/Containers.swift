import BothyStore
import BothySync

/// Where each container stands: cursor, last pull, what waits in it, who syncs.
struct Containers {
  struct Row {
    var scope: PullScope
    /// Nil before a pull has begun.
    var status: ContainerStatus?
    var isFollowed: Bool
    var isSyncing: Bool
    /// How many of the pending entries that were looked at lie in it.
    var pending: Int
  }

  let rows: [Row]
  let lease: Overview.Lease?
  let needingSync: [String]

  /// So many entries of the outbox are looked at for the counts of each container.
  static let counted = 5000

  init(_ store: SyncedStore) throws {
    let containers = try store.containers()
    let entries = try store.outbox(limit: Self.counted)
    let followed = store.followedScopes
    let status = store.status
    let begun = Dictionary(containers.map { ($0.scope, $0) }) { first, _ in first }
    let scopes = containers.map(\.scope) + followed.filter { begun[$0] == nil }
    rows = scopes.map { scope in
      Row(
        scope: scope, status: begun[scope], isFollowed: followed.contains(scope),
        isSyncing: status.isSyncing(scope.container),
        pending: entries.count { scope.contains($0.container ?? $0.record.type) })
    }
    lease = try store.leaseHolder().map { Overview.Lease(process: $0.process, end: $0.end) }
    needingSync = try store.containersNeedingSync()
  }

  func write(to writer: inout JSONWriter) {
    writer.list("containers", rows) { writer, row in
      writer.member("container", row.scope.container)
      writer.member("children", row.scope.includesChildren)
      writer.member("cursor", row.status?.cursor)
      writer.member("complete", row.status?.isComplete ?? false)
      writer.member("filling", row.status?.isFilling ?? false)
      writer.member("pulledAt", row.status?.pulledAt)
      writer.member("followed", row.isFollowed)
      writer.member("syncing", row.isSyncing)
      writer.member("pending", row.pending)
    }
    writer.key("lease")
    if let lease { writer.object { lease.write(to: &$0) } } else { writer.null() }
    writer.member("needingSync", .array(needingSync.map { .string($0) }))
  }
}
