internal import BothyStore
internal import Foundation
internal import GRDB

/// Reads of entries without their bytes: digests, metadata and sizes.
extension DiskStore {
  func digests(_ keys: [ResourceKey]) throws -> [StoredDigest?] {
    // The first read may find a damaged index, and the second one reads its replacement.
    guard let rows = try rows(keys) ?? rows(keys) else { return keys.map { _ in nil } }
    return try zip(keys, rows).map { key, row in
      guard let row else { return nil }
      let digest = StoredDigest(size: row.size, checksum: row.checksum)
      let (place, source) = (key.of(variant: KnownSource.variant(row.number)), sources.source(key.source))
      if let body = row.body {
        let name = BodyName(checksum: row.checksum, size: row.size)
        if body.isFile, FileBytes.size(files.path(name).pathText) != row.size { return nil }
        return try packing(place, source) ?? digest
      }
      let path = files.path(place, source)
      guard let (end, size) = try FileBytes.end(path, 0) else { return nil }
      end.free()
      return Int64(size) > row.size ? digest : nil
    }
  }

  /// Returns the digest of an entry's content if its bytes are packed.
  private func packing(_ key: ResourceKey, _ source: KnownSource) throws -> StoredDigest? {
    let place = try reading(isLocked: false) { index in
      try index.look { try RowReader.metadata(key, source, in: &$0) }
    }
    switch place {
    case .here(let metadata), .large(let metadata, _): return metadata.packing
    case .inFile, .damaged, .nothing, nil: return nil
    }
  }

  /// Returns the row of each key, of its first variant, or `nil` if the index was damaged.
  private func rows(_ keys: [ResourceKey]) throws -> [EntryRow?]? {
    try read { database in
      let find = try PreparedStatement(
        "SELECT \(EntryRow.columns) FROM \(EntryRow.tables) WHERE e.id BETWEEN ?1 AND ?1 + 3 ORDER BY e.id",
        in: database)
      return try keys.map { key in
        find.bind(sources.source(key.source).number(of: key.base), at: 1)
        defer { find.reset() }
        while try find.step() {
          let row = EntryRow(find)
          if row.name == key.name { return row }
        }
        return nil
      }
    }
  }

  func totals() throws -> [SourceID: ResourceCache.Totals] {
    try read { database in
      let select = try PreparedStatement(
        "SELECT name, count, bytes, pinnedCount, pinnedBytes FROM source WHERE count > 0", in: database)
      defer { select.reset() }
      var totals: [SourceID: ResourceCache.Totals] = [:]
      while try select.step() {
        var one = ResourceCache.Totals()
        one.count = Int(select.int(at: 1))
        one.bytes = select.int(at: 2)
        one.pinnedCount = Int(select.int(at: 3))
        one.pinnedBytes = select.int(at: 4)
        totals[SourceID(select.text(at: 0) ?? "")] = one
      }
      return totals
    } ?? [:]
  }

  /// One entry on a page: its row, its key, and its metadata if the row has it.
  struct Listed {
    var row: EntryRow
    var key: ResourceKey
    var metadata: EntryMetadata?
  }

  /// Returns up to 256 entries whose numbers follow `last`, ordered by number.
  func page(after last: Int64?, _ source: SourceID?, isLocked: Bool = false) throws -> [Listed] {
    let wanted = source.map { sources.source($0).name }
    return try reading(isLocked: isLocked) { index in
      try index.read { try page(after: last, wanted, in: $0, index.frames) }
    } ?? []
  }

  private func page(
    after last: Int64?, _ wanted: [UInt8]?, in database: Database, _ frames: FrameBook
  ) throws -> [Listed] {
    let select = try PreparedStatement(
      """
      SELECT \(EntryRow.columns), e.metadata, s.name FROM \(EntryRow.tables) JOIN source s ON s.id = e.source
      WHERE e.id > ?1 AND (?2 IS NULL OR s.name = ?2) ORDER BY e.id LIMIT 256
      """, in: database)
    defer { select.reset() }
    select.bind(last ?? .min, at: 1)
    if let wanted { select.bind(utf8: wanted, at: 2) } else { select.bind(Int64?.none, at: 2) }
    var page: [Listed] = []
    while try select.step() {
      let row = EntryRow(select)
      let id = SourceID(select.text(at: EntryRow.columnCount + 1) ?? "")
      let key = ResourceKey(id, row.name, variant: KnownSource.variant(row.number))
      var listed = Listed(row: row, key: key)
      if row.body != nil {
        listed.metadata = try frames.metadata(
          select.blob(at: EntryRow.columnCount), frame: row.frame,
          seed: sources.source(id).seed(row.checksum), in: database)
      }
      page.append(listed)
    }
    return page
  }

  package func forEach(
    _ source: SourceID?,
    _ body: (_ key: ResourceKey, _ metadata: EntryMetadata, _ bytes: Int64) throws -> Void
  ) throws {
    try forEachEntry(source) { try body($0, $1, $2.bytes) }
  }

  func forEachEntry(
    _ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void
  ) throws {
    var last: Int64?
    while true {
      let page = try page(after: last, source)
      guard let end = page.last else { return }
      for listed in page {
        let row = listed.row
        var metadata = listed.metadata
        if row.body == nil {
          let path = files.path(listed.key, sources.source(listed.key.source))
          metadata = try files.describe(path, sources)?.metadata
        }
        guard let metadata = metadata?.ofContent else { continue }
        let size = StoredSize(
          bytes: row.bytes, isPinned: row.isPinned, lastUsed: row.used ?? metadata.validatedAt)
        try body(listed.key, metadata, size)
      }
      last = end.row.number
    }
  }
}
