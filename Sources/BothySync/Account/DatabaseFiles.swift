import BothyStore
import Foundation

/// The files that belong to a database: its own and those that Bothy and SQLite store beside it.
enum DatabaseFiles {
  private static let blobs = "-blobs"
  /// The endings of the names of files beside a database.
  private static let endings = ["-wal", "-shm", "-journal", "-signals", "-suspect", "-secrets", blobs]

  /// Returns true if a path is that of a database, of a file that belongs to it, or inside of a folder that does.
  static func owns(_ path: String, _ database: String) -> Bool {
    func resolved(_ path: String) -> String {
      let url = URL(fileURLWithPath: path)
      return url.deletingLastPathComponent().resolvingSymlinksInPath().path + "/" + url.lastPathComponent
    }
    let (path, database) = (resolved(path), resolved(database))
    return ([""] + endings).contains { path == database + $0 || path.hasPrefix("\(database)\($0)/") }
  }

  /// Copies the bytes of a database's blobs to a folder beside a document of pending changes, and keeps files that
  /// exist there. A content has one name everywhere. Each file is checked afterwards. It is linked if the disk supports
  /// links.
  static func copyBlobs(of database: String, beside document: String) throws {
    let source = BlobFolder.path(besideDatabase: database)
    try copy(source, to: document + blobs)
    for name in try names(in: source) where size("\(document)\(blobs)/\(name)") != size("\(source)/\(name)") {
      throw BothyError(
        .badDocument,
        "The blob \(name) could not be written beside \(document). Free some space, or export to another place."
      )
    }
  }

  /// Copies the bytes of blobs from beside a document.
  static func copyBlobs(from document: String, to path: String) throws {
    try copy(document + blobs, to: BlobFolder.path(besideDatabase: path))
  }

  /// Returns the names of complete files. Files in `incoming` and `partial` have no owner yet.
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

  /// Returns the size of a regular file, or `nil` for anything else.
  private static func size(_ path: String) -> Int64? {
    let found = try? FileManager.default.attributesOfItem(atPath: path)  // nil: it doesn't exist
    guard found?[.type] as? FileAttributeType == .typeRegular else { return nil }
    return found?[.size] as? Int64
  }

  /// Finishes the deletion of a database that is marked as signed out, or as one that a new file replaces.
  static func finishSignOut(_ path: String) throws {
    let isReplaced = try SyncValues.reading(path) { try ServerBinding.isReplaced(in: $0) }
    // The changes of its quarantined copies were neither given up nor saved.
    if isReplaced == true { return try removeReplaced(path) }
    let isDiscarded = try SyncValues.reading(path) { try ServerBinding.isDiscarded(in: $0) }
    if isDiscarded == true { try removeDocuments(of: path) }
    try removeWithCopies(path)
  }

  /// Deletes a database that is marked as replaced. Its blobs are deleted first, because they may be many, and until it is
  /// deleted its mark names the document.
  static func removeReplaced(_ path: String) throws {
    let folder = BlobFolder.path(besideDatabase: path)
    if FileManager.default.fileExists(atPath: folder) { try FileManager.default.removeItem(atPath: folder) }
    try remove(path)
  }

  /// Deletes a database, all files that belong to it and the copies of it that were quarantined, also those that were
  /// salvaged or dismissed. An import or a salvage that was interrupted has left a file of pending changes too.
  static func removeWithCopies(_ path: String) throws {
    guard path != ":memory:" else { return }
    // They are deleted first, because the database has the mark that their changes were given up.
    try remove(besides: path) {
      $0.wholeMatch(of: /\.(damaged|salvaged|dismissed)-[0-9]+(-padded)?(-wal|-shm|-journal)?/) != nil
        || $0.wholeMatch(of: /-import-[0-9a-f-]{36}(-wal|-shm|-journal|-signals|-suspect)?/) != nil
    }
    try remove(path)
  }

  /// Deletes the documents of pending changes that were written when a database was created again.
  static func removeDocuments(of path: String) throws {
    try remove(besides: path) { $0.wholeMatch(of: /\.pending-[0-9]+\.json(-blobs)?/) != nil }
  }

  /// Deletes the files whose names are that of the database with an ending that `isOwn` accepts.
  private static func remove(besides path: String, _ isOwn: (Substring) -> Bool) throws {
    let file = URL(fileURLWithPath: path)
    let (folder, name) = (file.deletingLastPathComponent().path, file.lastPathComponent)
    for other in try FileManager.default.contentsOfDirectory(atPath: folder)
    where other.hasPrefix(name) && isOwn(other.dropFirst(name.count)) {
      try FileManager.default.removeItem(atPath: "\(folder)/\(other)")
    }
  }

  /// Deletes a database and all files that belong to it, and no others.
  static func remove(_ path: String) throws {
    guard path != ":memory:" else { return }
    let manager = FileManager.default
    // The database itself is deleted first, because the other files have no owner without it.
    try manager.removeItem(atPath: path)
    for ending in endings where manager.fileExists(atPath: path + ending) {
      try manager.removeItem(atPath: path + ending)
    }
    let folder = BlobFolder.path(besideDatabase: path)
    if manager.fileExists(atPath: folder) { try manager.removeItem(atPath: folder) }
  }
}
