internal import Foundation

/// The index of a newer format, which stays aside with what this version can't read of it.
///
/// A version that knows its format takes that back when it opens the store.
extension DiskStore {
  /// The place of the newer index. A store has one at most.
  var newerPlace: String { indexPath + ".newer" }

  /// The number of days after which the newer index is deleted.
  private static let daysAside = 30

  /// True if a newer index is aside. It may name bodies, and files that this version can't read.
  var hasNewer: Bool { FileBytes.size(newerPlace) != nil }

  /// Ends the copying of a newer index. Deletes what was copied from it, so that a later version brings back no entry
  /// that was removed since. Deletes the whole file if nothing else is in it, and reports it otherwise.
  func settle(_ salvaged: Salvaged) {
    guard salvaged.origin == .newer else { return }
    guard !salvaged.isWhole else { return removeNewer() }
    if let old = QuarantinedIndex(newerPlace, sources) {
      old.forget(salvaged.rows, pins: salvaged.pins)
      old.close()
    }
    // Its days aside begin now. With an earlier date it goes earlier.
    try? FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: newerPlace)
    let unread =
      salvaged.unread > 0 ? "\(salvaged.unread) of its entries can't" : "parts of it can't"
    options.onEvent?(
      .recreated(
        file: indexPath, movedTo: newerPlace,
        reason: "\(unread) be read by this version, and stay there for \(Self.daysAside) days for a newer one"
      ))
  }

  /// Takes back what an earlier version could not read of an index whose format this one knows. Call it with the lock
  /// held.
  func takeBack(into index: IndexFile) throws {
    guard hasNewer else { return }
    let old = QuarantinedIndex(newerPlace, sources)
    let format = old?.format ?? .max
    defer { old?.close() }
    guard let old, format <= IndexSchema.version else {
      _ = removeOldNewer()
      return
    }
    do {
      for part in try copy(old, .waiting, into: index).inFiles.parts(of: 512) {
        try change(index) { transaction in
          for one in part where try transaction.row(one.number) == nil {
            let path = files.path(one.key, sources.source(one.key.source))
            if let file = try files.describe(path, sources) { try transaction.adopt(file) }
          }
        }
      }
    } catch let error where DiskError.isDiskFull(sentence(error)) {
      // The index stays aside, and the next opening goes on.
      return
    }
    removeNewer()
  }

  /// Deletes the newer index.
  func removeNewer() { for side in ["", "-wal", "-shm"] { unlink(newerPlace + side) } }

  /// Deletes the newer index if its days are over.
  func removeOldNewer() -> (files: Int, bytes: Int64) {
    // A file without a date stays.
    guard let days = Self.days(since: newerPlace), days > Double(Self.daysAside) else { return (0, 0) }
    let bytes = FileBytes.size(newerPlace) ?? 0
    removeNewer()
    return (1, bytes)
  }
}

/// The result of copying an index that was put aside.
struct Salvaged {
  enum Origin {
    case damaged
    /// A newer index that was put aside now.
    case newer
    /// A newer index from which an earlier version has copied what it could read.
    case waiting
  }

  var origin: Origin
  /// True if this index was the store's until now, so that its pins are the last ones. Without it, the last index is lost.
  var isLast = false
  /// The rows of the entries that were read.
  var rows: [Int64] = []
  /// The rows of the pins that were read.
  var pins: [QuarantinedIndex.PinRow] = []
  /// The entries in files of their own among these.
  var inFiles: [(key: ResourceKey, number: Int64, isPinned: Bool)] = []
  /// The number of listed entries that could not be read.
  var unread = 0
  var hasAllPins = false
  var hasAllRows = false
  /// True if the index has no tables of an unknown version.
  var knowsTables = false

  /// True if everything in the index was read.
  var isWhole: Bool { hasAllPins && hasAllRows && knowsTables }
}
