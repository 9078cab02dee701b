internal import BothyStore
internal import Foundation
internal import GRDB
internal import Synchronization

/// Removals of entries, on a disk that may be full: those that callers want, evictions and lower limits.
///
/// A store of 4 MB and more holds some room on the disk for them, which counts against its limits. See `HeldRoom`.
extension DiskStore {
  /// The most entries of a step of a removal, and those of a step on a full disk.
  private static let (mostRemoved, fewRemoved) = (512, 16)

  /// Runs one step of a removal, which is given the most entries that it may take. Returns its result.
  ///
  /// On a full disk, gives up the held room and repeats the step with fewer entries, then with one. Call it with the lock
  /// held, if something is there to remove, and `settle(isSmaller:)` after the last step.
  func removing<Result>(_ step: (_ most: Int) throws -> Result) throws -> Result {
    do { return try step(Self.mostRemoved) } catch let error where DiskError.isDiskFull(error) {
      isShort.store(true, ordering: .relaxed)
      room.giveUp()
      emptyLog()
    }
    do {
      let result = try removingFew(step)
      // The next step has the room that this one has made.
      try returnEmptyPages()
      return result
    } catch {
      keepRoom()
      throw error
    }
  }

  private func removingFew<Result>(_ step: (_ most: Int) throws -> Result) throws -> Result {
    do { return try step(Self.fewRemoved) } catch let error where DiskError.isDiskFull(error) {
      emptyLog()
      return try step(1)
    }
  }

  /// Ends a removal. Returns empty pages to the file system if there are many or the disk is nearly full, and holds room
  /// for the next removal.
  ///
  /// - Parameter isSmaller: true if there are many.
  func settle(isSmaller: Bool = false) throws {
    if isSmaller || isNearlyFull { try returnEmptyPages() }
    keepRoom()
  }

  var isNearlyFull: Bool {
    isShort.load(ordering: .relaxed) || HeldRoom.free(beside: indexPath) < 2 * HeldRoom.size
  }

  /// Holds room if the store is large, and none if it isn't. Call it with the lock held.
  func keepRoom() {
    isShort.store(false, ordering: .relaxed)
    // Room that can't be held now is held by a later call.
    guard let index = try? opened(), !index.isReadOnly, let stored = try? stored() else { return }
    if stored < HeldRoom.leastStored { return room.giveUp() }
    if options.isDiskFull?() != true { room.hold() }
  }

  /// Gives up the held room for a removal from another file. Returns false if there was none.
  func giveUpRoom() throws -> Bool {
    try lock.writing {
      guard room.isHeld else { return false }
      room.giveUp()
      return true
    }
  }

  /// Notes that bytes were stored, and holds room after some. Call it with the lock held.
  func noteStored(_ bytes: Int64) {
    guard unheld.add(bytes, ordering: .relaxed).newValue >= HeldRoom.leastStored / 4 else { return }
    unheld.store(0, ordering: .relaxed)
    if !room.isHeld { keepRoom() }
  }

  /// Returns the counted bytes of all entries.
  private func stored() throws -> Int64? {
    try read(isLocked: true) { try Int64.fetchOne($0, sql: "SELECT sum(bytes) FROM source") ?? 0 }
  }

  /// Evicts the next entries in the limits' order, with at least `needed` bytes. Returns the evicted keys, which are
  /// fewer if the disk fails. Entries in `kept` stay. Call it with the lock held.
  func evict(bytes needed: Int64, keeping kept: Set<Int64> = []) throws -> [ResourceKey] {
    var evicted: [ResourceKey] = []
    var left = needed
    while left > 0, try hasEvictable() {
      do {
        let (keys, freed) = try removing { most in
          try write { transaction in
            let before = transaction.bytes
            let keys = try transaction.evict(bytes: left, keeping: kept, atMost: most)
            return (keys, before - transaction.bytes)
          }
        }
        if keys.isEmpty { break }
        evicted += keys
        left -= freed
      } catch let error where DiskError.isDiskFull(error) { break }
    }
    return evicted
  }

  /// True if limits may evict an entry.
  func hasEvictable() throws -> Bool {
    try read(isLocked: true) { database in
      try Bool.fetchOne(
        database, sql: "SELECT EXISTS (SELECT 1 FROM entry WHERE pinned = 0 AND rank > ?)",
        arguments: [keptRank.load(ordering: .relaxed)])
    } == true
  }

  /// Returns empty pages to the file system, as many at a time as the log has room for. Call it with the lock held.
  ///
  /// On a full disk the rest stays, and is used by later entries.
  func returnEmptyPages() throws {
    var empty = Int64.max
    while true {
      emptyLog()
      let left = try number("freelist_count")
      guard left > 0, left < empty else { return }
      empty = left
      // A page that moves takes two in the log.
      let most = max(8, HeldRoom.free(beside: indexPath) / Int64(4 * pageSize))
      do { try maintain("PRAGMA incremental_vacuum(\(min(most, left)))") } catch let error
        where DiskError.isDiskFull(error)
      { return emptyLog() }
    }
  }

  /// Writes the log into the index, and empties it. While a reader uses it, it stays for the next call.
  func emptyLog() { try? maintain("PRAGMA wal_checkpoint(TRUNCATE)") }
}
