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
      for part in keys.parts(of: 512) {
        let removed = try write { transaction in
          var removed = 0
          for key in part {
            let row = try transaction.row(sources.source(key.source).number(of: key))
            guard let row, row.name == key.name else { continue }
            try transaction.delete(row)
            removed += 1
          }
          return removed
        }
        if removed > 0 { changes.announce() }
      }
    }
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
        guard let end = page.last else { return }
        last = end.row.number
        let numbers = page.filter(goes).map(\.row.number)
        if numbers.isEmpty { continue }
        try write { transaction in
          // An entry that goes may leave its body to one of the next.
          for number in numbers { try transaction.row(number).map { try transaction.delete($0) } }
        }
        changes.announce()
      }
    }
  }

  /// Returns empty pages to the file system.
  func shrink() throws { try lock.writing { try returnEmptyPages() } }

  /// Returns empty pages to the file system. Call it with the lock held.
  func returnEmptyPages() throws {
    try maintain("PRAGMA incremental_vacuum; PRAGMA wal_checkpoint(TRUNCATE)")
  }

  // MARK: limits and pins

  @discardableResult
  package func apply(_ limits: DiskCache.Limits) throws -> [ResourceKey] {
    setLimits(limits)
    return try lock.writing {
      try maintain("PRAGMA wal_autocheckpoint = \(Self.logPages(limits, pageSize: pageSize))")
      let evicted = try evictSurplus()
      if !evicted.isEmpty { try returnEmptyPages() }
      return evicted
    }
  }

  /// Evicts entries beyond the limits, a part at a time. Call it with the lock held.
  private func evictSurplus() throws -> [ResourceKey] {
    var evicted: [ResourceKey] = []
    while true {
      let more = try write { transaction in
        try transaction.makeRoom(bytes: 0, count: 0, atMost: 1024) + transaction.holdFileSize(keeping: [])
      }
      if more.isEmpty { return evicted }
      evicted += more
    }
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
      guard let keys else {
        while try write({ try $0.unpinSome(8, of: holder) }) { _ = try evictSurplus() }
        return
      }
      for part in keys.parts(of: 512) {
        try write { transaction in
          try transaction.unpin(part.map { sources.source($0.source).number(of: $0) }, holder)
        }
        _ = try evictSurplus()
      }
    }
  }
}

extension Array {
  func parts(of size: Int) -> [ArraySlice<Element>] {
    stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
  }
}
