internal import BothyStore
internal import Foundation
internal import GRDB

extension IndexedStore {
  func entry(_ key: ResourceKey) throws -> CacheEntry? {
    if largestRow == nil { _ = try opened() }
    if case .here(let entry) = try check(key) { return entry }
    return nil
  }

  func metadata(_ key: ResourceKey) throws -> EntryMetadata? {
    let source = sources.source(key.source)
    if largestRow != nil {
      switch try read({ try RowReader.metadata(key, source, in: $0) }) {
      case .here(let metadata): return metadata
      case .damaged:
        try discard(key, source)
        return nil
      case .nothing, nil: return nil
      case .inFile: break
      }
    } else {
      _ = try opened()
    }
    let description = try files.describe(files.path(key, source), sources)
    if let description, description.key == key { return description.metadata }
    if largestRow != nil, case .here(let entry) = try settled(key, source) { return entry.metadata }
    return nil
  }

  private func inRow(_ key: ResourceKey, _ source: KnownSource, isLocked: Bool = false) throws
    -> RowReader.Place<CacheEntry>
  {
    try reading(isLocked: isLocked) { try $0.look { try RowReader.entry(key, source, by: $0) } } ?? .nothing
  }

  /// Reads an entry and checks it. Removes a damaged one.
  func check(_ key: ResourceKey) throws -> RowReader.Place<CacheEntry> {
    let source = sources.source(key.source)
    var place = largestRow == nil ? RowReader.Place<CacheEntry>.inFile : try inRow(key, source)
    if case .inFile = place {
      place =
        switch try files.read(key, source) {
        case .entry(let entry): .here(entry)
        case .damaged: .damaged
        case nil: .inFile
        }
    }
    if case .damaged = place { try discard(key, source) }
    if case .inFile = place, largestRow != nil { return try settled(key, source) }
    return place
  }

  /// Reads an entry under the lock after its row named a missing file.
  ///
  /// In the meantime the file may have received its name, or the row may have the bytes now. If the writer was killed,
  /// the row is deleted.
  private func settled(_ key: ResourceKey, _ source: KnownSource) throws -> RowReader.Place<CacheEntry> {
    do {
      return try lock.writing {
        let place = try inRow(key, source, isLocked: true)
        guard case .inFile = place else { return place }
        if case .entry(let entry) = try files.read(key, source) { return .here(entry) }
        try write { transaction in
          if let row = try transaction.row(source.number(of: key)), row.body == nil {
            try transaction.delete(row)
          }
        }
        return .nothing
      }
    } catch let error as BothyError where [.busy, .diskFull].contains(error.code) {
      return .nothing
    }
  }

  /// Reports a damaged entry, and removes it if it is still damaged under the lock.
  private func discard(_ key: ResourceKey, _ source: KnownSource) throws {
    options.onEvent?(.damaged(key))
    do {
      try lock.writing {
        let isStillDamaged =
          if largestRow == nil { try isDamaged(files.read(key, source)) } else {
            switch try inRow(key, source, isLocked: true) {
            case .damaged: true
            case .inFile: try isDamaged(files.read(key, source))
            default: false
            }
          }
        guard isStillDamaged else { return }
        try write { transaction in
          if let row = try transaction.row(source.number(of: key)) {
            try transaction.delete(row)
          } else if largestRow == nil {
            transaction.folders -= Int64(files.remove(files.path(key, source)))
          }
        }
      }
    } catch let error as BothyError where [.busy, .diskFull].contains(error.code) {
      // The entry stays until the next read finds it. No read returns it.
    }
  }

  private func isDamaged(_ finding: EntryFolder.Finding?) -> Bool {
    if case .damaged = finding { true } else { false }
  }

  func isPinned(_ key: ResourceKey) throws -> Bool {
    let number = sources.source(key.source).number(of: key.base)
    return try read { database in
      let find = try PreparedStatement("SELECT 1 FROM pin WHERE entry = ?1 LIMIT 1", in: database)
      find.bind(number, at: 1)
      defer { find.reset() }
      return try find.step()
    } ?? false
  }

  func forEachPin(
    by holder: String?, _ body: (_ key: ResourceKey, _ holder: String, _ bytes: Int64?) throws -> Void
  ) throws {
    var last: (holder: Int64, entry: Int64) = (.min, .min)
    while true {
      let page = try read { database in
        var page: [StoredPin] = []
        let select = try PreparedStatement(
          """
          SELECT p.holder, p.entry, h.name, s.name, p.name,
            (SELECT sum(bytes) FROM entry WHERE id BETWEEN p.entry AND p.entry + 3)
          FROM pin p JOIN holder h ON h.id = p.holder JOIN source s ON s.id = p.source
          WHERE (p.holder, p.entry) > (?1, ?2) AND (?3 IS NULL OR h.name = ?3) ORDER BY p.holder, p.entry LIMIT 256
          """, in: database)
        defer { select.reset() }
        select.bind(last.holder, at: 1)
        select.bind(last.entry, at: 2)
        if let holder { select.bind(holder, at: 3) } else { select.bind(Int64?.none, at: 3) }
        while try select.step() {
          last = (select.int(at: 0), select.int(at: 1))
          page.append(
            StoredPin(
              key: ResourceKey(SourceID(select.text(at: 3) ?? ""), select.name(at: 4)),
              holder: select.text(at: 2) ?? "", bytes: select.isNull(at: 5) ? nil : select.int(at: 5)))
        }
        return page
      }
      guard let page, !page.isEmpty else { return }
      for pin in page { try body(pin.key, pin.holder, pin.bytes) }
    }
  }

  func totals() throws -> [SourceID: StoreTotals] {
    try read { database in
      let select = try PreparedStatement(
        "SELECT name, count, bytes, pinnedCount, pinnedBytes FROM source WHERE count > 0", in: database)
      defer { select.reset() }
      var totals: [SourceID: StoreTotals] = [:]
      while try select.step() {
        var one = StoreTotals()
        one.count = Int(select.int(at: 1))
        one.bytes = select.int(at: 2)
        one.pinnedCount = Int(select.int(at: 3))
        one.pinnedBytes = select.int(at: 4)
        totals[SourceID(select.text(at: 0) ?? "")] = one
      }
      return totals
    } ?? [:]
  }

  func totals(heldBy holder: String) throws -> StoreTotals {
    try read { database in
      let select = try PreparedStatement(
        """
        SELECT count(*), ifnull(sum(e.bytes), 0) FROM holder h JOIN pin p ON p.holder = h.id
        JOIN entry e ON e.id BETWEEN p.entry AND p.entry + 3 WHERE h.name = ?1
        """, in: database)
      select.bind(holder, at: 1)
      defer { select.reset() }
      var totals = StoreTotals()
      guard try select.step() else { return totals }
      totals.count = Int(select.int(at: 0))
      totals.bytes = select.int(at: 1)
      (totals.pinnedCount, totals.pinnedBytes) = (totals.count, totals.bytes)
      return totals
    } ?? StoreTotals()
  }

  func pinCount(by holder: String) throws -> Int {
    try read { database in
      try Int.fetchOne(
        database, sql: "SELECT count(*) FROM holder h JOIN pin p ON p.holder = h.id WHERE h.name = ?",
        arguments: [holder])
    } ?? 0
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
    return try read(isLocked: isLocked) { database in
      let select = try PreparedStatement(
        """
        SELECT \(EntryRow.columns.split(separator: ", ").map { "e.\($0)" }.joined(separator: ", ")), e.metadata, s.name
        FROM entry e JOIN source s ON s.id = e.source
        WHERE e.id > ?1 AND (?2 IS NULL OR s.name = ?2) ORDER BY e.id LIMIT 256
        """, in: database)
      defer { select.reset() }
      select.bind(last ?? .min, at: 1)
      if let wanted { select.bind(utf8: wanted, at: 2) } else { select.bind(Int64?.none, at: 2) }
      var page: [Listed] = []
      while try select.step() {
        let row = EntryRow(select)
        let id = SourceID(select.text(at: 12) ?? "")
        let key = ResourceKey(id, row.name, variant: KnownSource.variant(row.number))
        let seed = sources.source(id).seed(row.checksum)
        page.append(
          Listed(
            row: row, key: key,
            metadata: row.body == nil ? nil : MetadataCoding.decode(select.blob(at: 11), seed: seed)))
      }
      return page
    } ?? []
  }

  func forEach(_ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void) throws {
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
        guard let metadata else { continue }
        let size = StoredSize(bytes: row.bytes, isPinned: row.isPinned, lastUsed: row.used)
        try body(listed.key, metadata, size)
      }
      last = end.row.number
    }
  }
}
