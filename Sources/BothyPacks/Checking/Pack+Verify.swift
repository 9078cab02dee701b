internal import BothyStore
internal import Foundation
internal import GRDB

/// The verification of a pack.
extension Pack {
  /// Reads every file and verifies its length, SHA-256, structure and number of rows. The manifest must be the one that
  /// was opened.
  ///
  /// Runs on the calling thread with about a mebibyte of memory. Reads each file twice, on connections of its own.
  /// Verifies the files that the folder has now. Open shards and running queries aren't affected, so a file that was
  /// replaced is read as it was until the pack is opened again.
  ///
  /// - Parameter progress: called with the numbers of finished and of all files.
  /// - Throws: `BothyError` `.damagedFile` or `.checksumMismatch` for the first file that isn't valid, or
  ///   `.cancelled`. For the manifest, `.notFound`, `corruptManifest`, or `.damagedFile` if it is another one. Get or
  ///   build a damaged pack again.
  public func verify(progress: (Int, Int) -> Void = { _, _ in }) throws {
    guard try Self.manifest(in: folder.path) == manifest else {
      throw BothyError(
        .damagedFile,
        "The pack in \(folder.path) was replaced since it was opened. Open it again, and verify that.")
    }
    for (number, file) in manifest.files.enumerated() {
      try Self.check(file, in: folder.path)
      try examine(file)
      progress(number + 1, manifest.files.count)
    }
  }

  /// Like `verify(progress:)`, but without the checksums.
  func examine() throws { for file in manifest.files { try examine(file) } }

  /// Compares the length and SHA-256 of a file with the manifest.
  static func check(_ file: Pack.Manifest.File, in folder: String) throws {
    let path = folder + "/" + file.name
    guard let size = try? DurableFile.size(of: path) else {  // absent: reported below
      throw BothyError(.damagedFile, "The file \(path) of a pack is not there. Get or build the pack again.")
    }
    guard size == file.bytes else {
      throw BothyError(
        .damagedFile,
        "The file \(path) of a pack has \(size) bytes in place of \(file.bytes). Get or build the pack again."
      )
    }
    do {
      guard try Checksum.sha256(ofFile: path) == file.sha256 else {
        throw BothyError(
          .checksumMismatch,
          "The file \(path) of a pack has other contents than its manifest says. Get or build the pack again."
        )
      }
    } catch is CancellationError {
      throw BothyError(.cancelled, "The check was cancelled; nothing was changed.")
    } catch let error where !(error is BothyError) {
      throw BothyError(
        .damagedFile,
        "The file \(path) of a pack can't be read. Check its permissions, or get the pack again.",
        underlying: error)
    }
  }

  /// Opens a separate connection to a file and counts its rows.
  private func examine(_ file: Pack.Manifest.File) throws {
    let single = PackFile(file, of: manifest, in: folder.path, Pack.Options())
    let types = file.type.map { [$0] } ?? manifest.contents.filter { $0.shardedBy == nil }.map(\.type)
    try single.read { database in
      let verdict = try String.fetchOne(database, sql: "PRAGMA quick_check(1)")
      guard verdict == "ok" else {
        throw BothyError(.damagedFile, "\(file.name) is damaged: \(verdict ?? "").")
      }
      var rows = 0
      for type in types {
        let table = try shapes.shape(named: type).table
        // Every column must exist, too.
        _ = try database.makeStatement(sql: table.selectByIDSQL)
        rows += try Int.fetchOne(database, sql: "SELECT count(*) FROM \(table.name)") ?? 0
      }
      guard rows == file.rows else {
        throw BothyError(.damagedFile, "\(file.name) has \(rows) rows in place of \(file.rows).")
      }
    }
  }
}
