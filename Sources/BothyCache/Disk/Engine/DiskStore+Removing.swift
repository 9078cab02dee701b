internal import BothyStore
internal import Foundation
internal import GRDB

extension DiskStore {
  package func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws {
    guard limits.order == .leastRecentlyUsed, !uses.isEmpty else { return }
    var latest: [Int64: Int64] = [:]
    for use in uses {
      let number = sources.source(use.key.source).number(of: use.key)
      latest[number] = max(use.at, latest[number] ?? .min)
    }
    let order = latest.sorted { ($0.value, $0.key) < ($1.value, $1.key) }
    try lock.writing {
      for part in order.parts(of: 512) {
        try write { transaction in
          for (number, time) in part {
            let update = try PreparedStatement(
              "UPDATE entry SET rank = CASE WHEN rank > ?4 THEN ?2 ELSE rank END, used = ?3 WHERE id = ?1",
              in: transaction.database)
            update.bind(number, at: 1)
            update.bind(transaction.nextRank(), at: 2)
            update.bind(time, at: 3)
            update.bind(transaction.keptRank, at: 4)
            try update.run()
          }
        }
      }
    }
  }

  package func remove(_ keys: [ResourceKey]) throws {
    try lock.writing {
      let numbers = try present(keys)
      if numbers.isEmpty { return }
      try delete(numbers)
      try settle()
    }
  }

  /// Deletes entries in steps of a removal, and announces each. Call it with the lock held.
  private func delete(_ numbers: [Int64]) throws {
    try inSteps(numbers) { transaction, part in
      // An entry that goes may leave its body to one of the next.
      for number in part { try transaction.row(number).map { try transaction.delete($0) } }
    } then: {
      changes.announce()
    }
  }

  /// Runs a step of a removal for as many of the entries as it may take, until all have had theirs. Call it with the lock
  /// held.
  ///
  /// - Parameter end: runs after the transaction of each step.
  private func inSteps(
    _ numbers: [Int64], _ step: (IndexTransaction, ArraySlice<Int64>) throws -> Void,
    then end: () throws -> Void
  ) throws {
    var left = numbers[...]
    while !left.isEmpty {
      left = try removing { [left] most in
        try write { try step($0, left.prefix(most)) }
        return left.dropFirst(most)
      }
      try end()
    }
  }

  /// Returns the numbers of the stored entries among some. Call it with the lock held.
  private func present(_ keys: [ResourceKey]) throws -> [Int64] {
    let find: () throws -> [Int64]? = { [self] in
      try read(isLocked: true) { database in
        let select = try PreparedStatement("SELECT name FROM entry WHERE id = ?1", in: database)
        return try keys.compactMap { key in
          let number = sources.source(key.source).number(of: key)
          select.bind(number, at: 1)
          defer { select.reset() }
          return try select.step() && select.name(at: 0) == key.name ? number : nil
        }
      }
    }
    // The first read may find a damaged index, and the second one reads its replacement.
    return try find() ?? find() ?? []
  }

  func removeAll(_ source: SourceID?) throws {
    try removeRows(source) { _ in true }
    if source == nil { try lock.writing { removeNewer() } }
    try shrink()
  }

  func remove(receivedBefore time: Int64, _ source: SourceID?) throws {
    try removeRows(source) { listed in
      !listed.row.isPinned && (listed.metadata?.receivedAt ?? listed.row.receivedAt) < time
    }
  }

  private func removeRows(_ source: SourceID?, _ goes: (Listed) -> Bool) throws {
    try lock.writing {
      var last: Int64?
      while true {
        let page = try page(after: last, source, isLocked: true)
        guard let end = page.last else { return try settle() }
        last = end.row.number
        try delete(page.filter(goes).map(\.row.number))
      }
    }
  }

  /// Returns empty pages to the file system.
  func shrink() throws {
    try lock.writing {
      try returnEmptyPages()
      keepRoom()
    }
  }

  // MARK: limits and pins

  @discardableResult
  package func apply(_ limits: DiskCache.Limits) throws -> [ResourceKey] {
    setLimits(limits)
    return try lock.writing {
      try maintain("PRAGMA wal_autocheckpoint = \(Self.logPages(limits, pageSize: pageSize))")
      let evicted = try evictSurplus()
      try settle(isSmaller: !evicted.isEmpty)
      return evicted
    }
  }

  /// Evicts entries beyond the limits, a part at a time. Call it with the lock held.
  private func evictSurplus() throws -> [ResourceKey] {
    var evicted: [ResourceKey] = []
    while try isBeyondLimits(), try hasEvictable() {
      let more = try removing { most in
        try write { transaction in
          try transaction.makeRoom(bytes: 0, count: 0, atMost: most)
            + transaction.holdFileSize(keeping: [], atMost: most)
        }
      }
      if more.isEmpty { break }
      evicted += more
    }
    return evicted
  }

  /// True if entries are beyond the limits. Writes nothing, as a store is opened on a full disk too.
  private func isBeyondLimits() throws -> Bool {
    try reading(isLocked: true) { index in
      try index.read { database in
        let state = try IndexTransaction(
          database, sources, files, limits, hasBodies: layout == .pages, index.frames)
        state.held = room.bytes
        return try state.isBeyondLimits()
      }
    } ?? true
  }

  package func pin(_ keys: [ResourceKey], by holder: String) throws {
    try lock.writing {
      for part in keys.parts(of: 512) {
        try write { transaction in
          let holder = try transaction.holder(holder)
          for key in part { try transaction.pin(key, holder) }
        }
      }
      if !keys.isEmpty { endLoss() }
    }
  }

  package func unpin(_ keys: [ResourceKey]?, by holder: String) throws {
    try lock.writing {
      guard try hasPins(of: holder) else { return }
      var pinned = try pinnedBytes()
      var isSmaller = false
      if let keys {
        try inSteps(keys.map { sources.source($0.source).number(of: $0) }) { transaction, part in
          try transaction.unpin(Array(part), holder)
        } then: {
          if try trim(after: &pinned) { isSmaller = true }
        }
      } else {
        while try hasPins(of: holder) {
          guard try removing({ most in try write { try $0.unpinSome(most, of: holder) } }) else { break }
          if try trim(after: &pinned) { isSmaller = true }
        }
      }
      try settle(isSmaller: isSmaller)
    }
  }

  /// Enforces the limits after pins have ended, of `pinned` bytes before. Returns true if entries were evicted.
  ///
  /// On a disk that is nearly full, as many bytes as were released are evicted. The released entries' rows need some too.
  private func trim(after pinned: inout Int64) throws -> Bool {
    var evicted = try evictSurplus()
    let left = try pinnedBytes()
    if left < pinned, isNearlyFull { evicted += try evict(bytes: pinned - left) }
    pinned = left
    return !evicted.isEmpty
  }

  /// True if a holder has pins.
  private func hasPins(of holder: String) throws -> Bool {
    try read(isLocked: true) { database in
      try Bool.fetchOne(
        database, sql: "SELECT EXISTS (SELECT 1 FROM holder WHERE name = ?)", arguments: [holder])
    } ?? true
  }

  /// Returns the counted bytes of pinned entries.
  private func pinnedBytes() throws -> Int64 {
    try read(isLocked: true) { try Int64.fetchOne($0, sql: "SELECT sum(pinnedBytes) FROM source") ?? 0 } ?? 0
  }
}

extension Array {
  func parts(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
