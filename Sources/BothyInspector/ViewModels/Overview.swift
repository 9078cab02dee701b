import BothyStore
import BothySync

/// An overview of the content of the device.
struct Overview {
  let file: String
  let device: String
  let schemaVersion: Int
  let types: [(schema: TypeSchema, count: Int)]
  let pending: Outbox.Counts
  let blobs: BlobStorage.Backlog
  let containers: Int
  let lease: LeaseHolder?
  let isPaused: Bool
  let health: SyncHealth

  init(_ subjects: InspectorSubjects) async throws {
    let store = subjects.store
    file = store.store.path
    device = store.device
    schemaVersion = store.store.schema.version
    let schema = store.store.schema
    types = try await store.store.read { transaction in
      try schema.types.map { ($0, try transaction.count(AnyQuery($0.name))) }
    }
    pending = try store.pendingCounts()
    blobs = try store.blobs.backlog()
    containers = try store.containers().count
    lease = try store.leaseHolder()
    isPaused = try store.isPausedInFile()
    health = try store.syncHealth()
  }

  func write(to writer: inout JSONWriter, _ subjects: InspectorSubjects, isReachable: Bool?) {
    writer.member("file", file)
    writer.member("device", device)
    writer.member("schemaVersion", schemaVersion)
    writer.member("now", subjects.now)
    writer.list("types", types) { $1.schema.writeShown(count: $1.count, to: &$0) }
    writer.object("pending") { writer in
      pending.writeMembers(to: &writer)
      writer.member("total", pending.total)
      writer.member("drafts", pending.drafts)
      writer.member("rejected", pending.rejected)
    }
    writer.object("blobs") { blobs.writeMembers(to: &$0) }
    writer.member("containers", containers)
    writer.object("lease", lease) { $1.writeMembers(to: &$0) }
    writer.member("paused", isPaused)
    health.writeMembers(to: &writer)
    writer.object("server", subjects.server) { writer, server in
      writer.member("url", server.url)
      writer.member("space", server.space)
      writer.member("reachable", isReachable)
    }
    writer.object("subjects") { writer in
      writer.member("caches", subjects.caches.count)
      writer.member("places", subjects.places.count)
      writer.member("settings", subjects.settings.count)
      writer.member("packs", subjects.packs.count)
    }
  }
}

extension TypeSchema {
  /// Writes `name, synced, count, fields`.
  func writeShown(count: Int, to writer: inout JSONWriter) {
    writer.member("name", name)
    writer.member("synced", isSynced)
    writer.member("count", count)
    writer.list("fields", fields) { writer, field in
      writer.member("name", field.name)
      writer.member("kind", field.kindName)
      writer.member("optional", field.isOptional)
      writer.member("indexed", field.isIndexed)
      writer.member("target", field.kind.target?.type)
    }
  }
}
