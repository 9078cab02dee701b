internal import BothyStore
internal import Foundation
internal import GRDB

/// Taking over what only an index knew, when another takes its place.
extension IndexedStore {
  /// Puts the pins of the file that was put away last into a new index, as far as they can be read: what somebody wanted
  /// kept is not evicted because a file was damaged or is of another format. The lock is to be held.
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
    // Unreadable: nothing to take over.
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
      // Damaged from here on: what was read until then counts, holders put back the rest.
    }
    return found
  }
}
