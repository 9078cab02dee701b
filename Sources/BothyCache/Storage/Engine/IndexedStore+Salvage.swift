internal import BothyStore
internal import Foundation
internal import GRDB

/// The transfer of pins, which only an index has, into its replacement.
extension IndexedStore {
  /// Copies the readable pins of the last quarantined file into a new index. Call it with the lock held.
  ///
  /// Pinned entries are therefore not evicted because a file was damaged or has another format.
  func salvagePins(into index: IndexFile) throws {
    guard let place = lastPutAway() else { return }
    for part in Self.pins(ofFile: place).parts(of: 512) {
      try index.write { database in
        let transaction = try IndexTransaction(database, sources, files, limits, hasBodies: largestRow != nil)
        for pin in part { try transaction.pin(pin.key, transaction.holder(pin.holder)) }
        try transaction.finish()
      }
    }
  }

  private func lastPutAway() -> String? {
    let folder = (indexPath as NSString).deletingLastPathComponent
    let start = (indexPath as NSString).lastPathComponent + ".corrupt-"
    // An unreadable folder has no pins to copy.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    return names.filter { $0.hasPrefix(start) && !$0.hasSuffix("-wal") && !$0.hasSuffix("-shm") }.max()
      .map { "\(folder)/\($0)" }
  }

  private static func pins(ofFile path: String) -> [(key: ResourceKey, holder: String)] {
    var found: [(key: ResourceKey, holder: String)] = []
    do {
      let queue = try DatabaseQueue(path: path)
      try queue.inDatabase { database in
        guard try Int64.fetchOne(database, sql: "PRAGMA application_id") == IndexSchema.applicationID else {
          return
        }
        let select = try PreparedStatement(
          """
          SELECT s.name, p.name, h.name FROM pin p JOIN holder h ON h.id = p.holder
          JOIN source s ON s.id = p.source
          """, in: database)
        defer { select.reset() }
        while try select.step() {
          guard let source = select.text(at: 0), let holder = select.text(at: 2) else { continue }
          found.append((ResourceKey(SourceID(source), select.name(at: 1)), holder))
        }
      }
      try queue.close()
    } catch {
      // The file is damaged from here on. The pins read so far count, and holders restore the rest.
    }
    return found
  }
}
