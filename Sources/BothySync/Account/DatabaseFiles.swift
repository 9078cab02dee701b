import BothyStore
import Foundation

/// The files that belong to a database: its own and those that Bothy and SQLite put beside it.
enum DatabaseFiles {
  private static let blobs = "-blobs"
  /// What is put beside a database, by the ending of its name.
  private static let endings = ["-wal", "-shm", "-journal", "-signals", "-suspect", "-secrets", blobs]

  /// Whether a path is that of a database, of a file of its own, or lies in a folder of its own.
  static func owns(_ path: String, _ database: String) -> Bool {
    func resolved(_ path: String) -> String {
      let url = URL(fileURLWithPath: path)
      return url.deletingLastPathComponent().resolvingSymlinksInPath().path + "/" + url.lastPathComponent
    }
    let (path, database) = (resolved(path), resolved(database))
    return ([""] + endings).contains { path == database + $0 || path.hasPrefix("\(database)\($0)/") }
  }

  /// Brings the bytes of a database's blobs beside a document of pending work, to those that are there: a content has
  /// the same name everywhere. Each is looked for afterwards. Links files where the disk can.
  static func copyBlobs(of database: String, beside document: String) throws {
    let source = BlobFolder.path(besideDatabase: database)
    try copy(source, to: document + blobs)
    for name in try names(in: source) where size("\(document)\(blobs)/\(name)") != size("\(source)/\(name)") {
      throw SyncError(
        .badDocument,
        "The blob \(name) could not be written beside \(document). Free some space, or export to another place."
      )
    }
  }

  /// Copies the bytes of blobs from beside a document.
  static func copyBlobs(from document: String, to path: String) throws {
    try copy(document + blobs, to: BlobFolder.path(besideDatabase: path))
  }

  /// The whole contents: what is being written, or downloaded, is nobody's yet.
  private static func names(in folder: String) throws -> [String] {
    guard FileManager.default.fileExists(atPath: folder) else { return [] }
    return try FileManager.default.subpathsOfDirectory(atPath: folder).filter {
      !$0.hasPrefix("incoming") && !$0.hasPrefix("partial") && size("\(folder)/\($0)") != nil
    }
  }

  private static func copy(_ source: String, to target: String) throws {
    let manager = FileManager.default
    for name in try names(in: source) {
      let (from, to) = ("\(source)/\(name)", "\(target)/\(name)")
      if let there = size(to) {
        if there == size(from) { continue }
        try manager.removeItem(atPath: to)
      }
      try PrivateFolder.make(URL(fileURLWithPath: to).deletingLastPathComponent().path)
      do { try manager.linkItem(atPath: from, toPath: to) } catch {
        try manager.copyItem(atPath: from, toPath: to)  // another disk
      }
    }
  }

  /// The size of a regular file; nil for anything else.
  private static func size(_ path: String) -> Int64? {
    let found = try? FileManager.default.attributesOfItem(atPath: path)  // nil: not there
    guard found?[.type] as? FileAttributeType == .typeRegular else { return nil }
    return found?[.size] as? Int64
  }

  /// Removes a database with what belongs to it, and nothing else.
  static func remove(_ path: String) throws {
    guard path != ":memory:" else { return }
    let manager = FileManager.default
    // The database itself goes first: what is left of the others without it is nobody's data.
    try manager.removeItem(atPath: path)
    for ending in endings where manager.fileExists(atPath: path + ending) {
      try manager.removeItem(atPath: path + ending)
    }
    let folder = BlobFolder.path(besideDatabase: path)
    if manager.fileExists(atPath: folder) { try manager.removeItem(atPath: folder) }
  }
}
