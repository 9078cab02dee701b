import BothyStore
import BothySyncService

/// The indexes of visibility: their upkeep with each change, and reading by them.
extension PostgresTransaction {
  /// Updates the index for stored records, each of which is named once.
  func index(_ records: [StoredRecord]) {
    var clear = statement(StorageSQL.clearAudiences)
    clear.bind(records.map(\.record.id.type))
    clear.bind(records.map(\.record.id.id))
    write(clear)
    let rows = records.flatMap { entry in entry.record.sharing.visibilityKeys.map { ($0, entry) } }
    write(StorageSQL.putAudiences, rows) { insert, row in
      insert.bind(row.0)
      insert.bind(row.1.record.id.type)
      insert.bind(row.1.position)
      insert.bind(row.1.record.id.id)
    }
    note(VisibilityPlace.lastPositions(of: records))
  }

  /// Raises the last positions of keys and types.
  func note(_ positions: [VisibilityPlace: Int64]) {
    let rows = positions.sorted { ($0.key.key, $0.key.type) < ($1.key.key, $1.key.type) }
    write(StorageSQL.raiseSeen, rows) { insert, row in
      insert.bind(row.key.key)
      insert.bind(row.key.type)
      insert.bind(row.value)
    }
  }

  func position(seenBy filter: VisibilityFilter) throws -> Int64 {
    var select = statement(StorageSQL.seenPosition)
    select.bind(filter.restrictedTypes.sorted())
    select.bind(filter.keys)
    select.bind(filter.names.map(VisibilityKey.notices))
    return try read(select).int(0, 0)
  }

  func changes(
    after position: Int64, in scope: SyncScope, limit: Int, bytes: Int, seenBy filter: VisibilityFilter
  ) throws -> [StoredRecord] {
    // Among few changes few are hidden.
    guard head - position > Int64(filter.fewChanges) else {
      return try changes(after: position, in: scope, limit: limit, bytes: bytes)
    }
    let sources = try sources(after: position, seenBy: filter)
    guard !sources.restricted.isEmpty else {
      return try changes(after: position, in: scope, limit: limit, bytes: bytes)
    }
    var pieces: StorageSQL.Pieces = []
    if !sources.whole.isEmpty { pieces.insert(.whole) }
    if !sources.owned.isEmpty { pieces.insert(.owned) }
    if !sources.shared.isEmpty { pieces.insert(.shared) }
    let chosen = sources.chosen.flatMap { type in (filter.sights[type]?.ids ?? []).map { (type, $0) } }
    let ranges = sources.chosen.flatMap { type in (filter.sights[type]?.ranges ?? []).map { (type, $0) } }
    if !chosen.isEmpty { pieces.insert(.named) }
    if !ranges.isEmpty { pieces.insert(.indexed) }
    guard !pieces.isEmpty else { return [] }
    var select = scoped(scope) { StorageSQL.visibleChanges($0, pieces: pieces) }
    select.bind(position)
    select.bind(Int64(limit))
    select.bind(Int64(bytes))
    select.bind(sources.whole)
    select.bind(filter.owner)
    select.bind(sources.owned)
    select.bind(sources.shared.map(\.key))
    select.bind(sources.shared.map(\.type))
    if pieces.contains(.named) || pieces.contains(.indexed) {
      select.bind(chosen.map(\.0))
      select.bind(chosen.map(\.1))
      select.bind(ranges.map(\.0))
      select.bind(ranges.map(\.1.index))
      select.bind(ranges.map(\.1.lower.hexadecimal))
      select.bind(ranges.map(\.1.upper.hexadecimal))
      select.bind(Array(Set(ranges.map(\.0))).sorted())
    }
    return try records(try read(select))
  }

  /// Returns the sources with changes after `position` that the filter shows.
  private func sources(after position: Int64, seenBy filter: VisibilityFilter) throws -> VisibilitySources {
    var select = statement(StorageSQL.seenSources)
    select.bind(position)
    select.bind(filter.keys)
    select.bind(filter.keyedTypes.sorted())
    let rows = try read(select)
    var sources = VisibilitySources()
    for row in 0..<rows.count {
      sources.add(VisibilityPlace(key: rows.text(row, 0) ?? "", type: rows.text(row, 1) ?? ""), filter)
    }
    return sources
  }
}
