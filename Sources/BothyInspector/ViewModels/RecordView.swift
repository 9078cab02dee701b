package import BothyStore
package import BothySync

/// A record with its sync state, as results show it.
package struct RecordView: Sendable {
  /// The record with its decimals as people write them.
  package let record: AnyRecord
  package let state: String
  /// The metres from the place that was asked for, rounded to a tenth.
  package var distance: Double?

  package init(_ record: AnyRecord, in store: SyncedStore) throws {
    self.init(record, state: try store.state(of: record.recordID).name, in: store)
  }

  /// Many at once: the outbox is read once.
  package static func all(
    _ records: [AnyRecord], in store: SyncedStore, nearest: SortKey? = nil
  ) throws -> [RecordView] {
    let hasPending = try store.pendingCounts().total > 0
    return try records.map { record in
      var shown = hasPending ? try RecordView(record, in: store) : RecordView(synced: record, in: store)
      if let nearest, let origin = nearest.origin, case .coordinate(let place) = record[nearest.field] {
        shown.distance = (place.distance(to: origin) * 10).rounded() / 10
      }
      return shown
    }
  }

  /// A record without pending changes.
  package init(synced record: AnyRecord, in store: SyncedStore) {
    self.init(record, state: "synced", in: store)
  }

  private init(_ record: AnyRecord, state: String, in store: SyncedStore) {
    self.record = store.store.schema[record.type]?.written(record) ?? record
    self.state = state
  }

  /// The members `id, type, container, version, state, fields`, `created`, `modified` and `owner` where they are known, and
  /// `distance` where one was asked for.
  package func write(to writer: inout JSONWriter) {
    writer.member("id", record.id)
    writer.member("type", record.type)
    writer.member("container", record.container)
    writer.member("version", record.version)
    writer.member("state", state)
    let metadata = record.metadata
    if let time = metadata.createdTime { writer.member("created", Timestamp(milliseconds: time).rfc3339) }
    if let time = metadata.modifiedTime { writer.member("modified", Timestamp(milliseconds: time).rfc3339) }
    if let owner = metadata.owner { writer.member("owner", owner) }
    if let distance { writer.member("distance", distance) }
    writer.object("fields") { writer in
      for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        value.write(to: &writer)
      }
    }
  }
}
