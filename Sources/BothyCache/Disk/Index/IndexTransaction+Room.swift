internal import BothyStore
internal import GRDB

/// The eviction of entries, so that the limits are kept.
extension IndexTransaction {
  /// The largest number of entries that an eviction removes beyond the limit.
  static let extraWork = 64

  /// Returns the reserved part of the limit.
  ///
  /// It is for the log, for the additions of a transaction before they are known, and for the tables' own pages.
  static func reserve(_ limit: Int64) -> Int64 { min(limit / 8, 16 << 20) }

  /// The largest number of bytes that all entries may count.
  var byteLimit: Int64? {
    limits.bytes.map { max(0, $0 - Self.reserve($0) - held - folders * 4096) }
  }

  /// The largest number of bytes that one entry may count.
  var largestEntry: Int64 {
    let limit = byteLimit ?? .max
    return min(limit, limits.largestEntry ?? limits.bytes.map { $0 / 10 } ?? .max)
  }

  /// Removes entries until the additions fit, or `most` are removed. Entries in `kept` stay.
  func makeRoom(
    bytes added: Int64, count addedCount: Int64, keeping kept: Set<Int64> = [], atMost most: Int = .max
  )
    throws -> [ResourceKey]
  {
    let byteLimit = byteLimit ?? .max
    let countLimit = limits.count.map(Int64.init) ?? .max
    guard bytes + added > byteLimit || count + addedCount > countLimit else { return [] }
    let (byteMark, countMark, least) = marks(byteLimit, countLimit)
    var evicted: [ResourceKey] = []
    var extra = 0
    try evict(keeping: kept) { row in
      guard evicted.count < most else { return false }
      let isDemanded =
        bytes + added > byteLimit || count + addedCount > countLimit || evicted.count < least
      if !isDemanded {
        guard extra < Self.extraWork, bytes + added > byteMark || count + addedCount > countMark else {
          return false
        }
        extra += 1
      }
      evicted.append(try key(of: row))
      return true
    }
    return evicted
  }

  /// Removes the next entries in the order of eviction, with at least `needed` bytes, or `most` of them. Entries in `kept`
  /// stay.
  func evict(bytes needed: Int64, keeping kept: Set<Int64>, atMost most: Int = .max) throws -> [ResourceKey] {
    let goal = bytes - needed
    var evicted: [ResourceKey] = []
    try evict(keeping: kept) { row in
      guard bytes > goal, evicted.count < most else { return false }
      evicted.append(try key(of: row))
      return true
    }
    return evicted
  }

  /// Removes entries until the pages in use fit the limit, whatever their fill is, or about `most` are removed.
  func holdFileSize(keeping kept: Set<Int64>, atMost most: Int = .max) throws -> [ResourceKey] {
    guard hasBodies, let allowed = try allowedPages() else { return [] }
    let pageSize = try pragma("page_size")
    var evicted: [ResourceKey] = []
    while evicted.count < most, try pagesInUse() > allowed {
      let more = try evict(bytes: 16 * pageSize, keeping: kept, atMost: most)
      if more.isEmpty { break }
      evicted += more
    }
    return evicted
  }

  private func allowedPages() throws -> Int64? {
    guard let limit = limits.bytes else { return nil }
    let pinned = try Int64.fetchOne(database, sql: "SELECT sum(pinnedBytes) FROM source") ?? 0
    return try (limit - Self.reserve(limit) / 2 - held + pinned) / pragma("page_size")
  }

  private func pagesInUse() throws -> Int64 { try pragma("page_count") - pragma("freelist_count") }

  /// True if the entries, or the pages in use, are beyond the limits.
  func isBeyondLimits() throws -> Bool {
    if bytes > byteLimit ?? .max || count > limits.count.map(Int64.init) ?? .max { return true }
    guard hasBodies, let allowed = try allowedPages() else { return false }
    return try pagesInUse() > allowed
  }

  func pragma(_ name: String) throws -> Int64 {
    let statement = try PreparedStatement("PRAGMA \(name)", in: database)
    defer { statement.reset() }
    return try statement.step() ? statement.int(at: 0) : 0
  }

  private func marks(_ byteLimit: Int64, _ countLimit: Int64) -> (bytes: Int64, count: Int64, least: Int) {
    switch limits.slack {
    case .lowMark(let part):
      let part = min(max(part, 0), 1)
      return (
        byteLimit == .max ? .max : Int64(Double(byteLimit) * part),
        countLimit == .max ? .max : Int64((Double(countLimit) * part).rounded(.up)), 0
      )
    case .minimalPurge(let least): return (.max, .max, least)
    }
  }

  /// Offers entries that are not pinned, in the order of eviction, and removes each accepted one, until one is refused.
  ///
  /// After a loss of pins, those that were stored before it aren't offered.
  private func evict(keeping kept: Set<Int64>, _ takes: (EntryRow) throws -> Bool) throws {
    var last = keptRank
    while true {
      let select = try PreparedStatement(
        "SELECT id, rank FROM entry WHERE pinned = 0 AND rank > ?1 ORDER BY rank LIMIT 64",
        in: database)
      select.bind(last, at: 1)
      var numbers: [Int64] = []
      while try select.step() {
        numbers.append(select.int(at: 0))
        last = select.int(at: 1)
      }
      select.reset()
      if numbers.isEmpty { return }
      for number in numbers where !kept.contains(number) {
        // An entry that goes may leave its body to one of the next, which then counts more.
        guard let row = try row(number) else { continue }
        guard try takes(row) else { return }
        try delete(row)
      }
    }
  }
}
