import BothyStore
import Crypto
import Foundation

/// The bytes of blobs on this device, in a folder beside the database file. Each content has one file, named by its
/// SHA-256. The table `bothy_blob` has the state of the blobs.
///
/// A file gets its name only when it is complete, durable and has the content of that name. Unfinished writes are in
/// `incoming`, and unfinished downloads in `partial`.
final class BlobFolder: Sendable {
  let root: String
  private let file: OpenedFile
  /// True if the folder is deleted with the store, because the store is temporary too.
  private let isTemporary: Bool

  struct File: Sendable {
    var sha256: String
    var size: Int64
    /// The time of the last use, in milliseconds since 1970.
    var used: Int64
  }

  /// Makes nothing on disk yet. A store without blobs has no folder.
  ///
  /// - Parameter file: the database file, which is deleted before the folder.
  init(besideDatabase path: String?, file: OpenedFile) {
    self.file = file
    if let path {
      root = Self.path(besideDatabase: path)
    } else {
      root =
        FileManager.default.temporaryDirectory.appendingPathComponent("bothy-blobs-\(UUIDv7.make())").path
    }
    isTemporary = path == nil
  }

  deinit {
    if isTemporary { try? FileManager.default.removeItem(atPath: root) }  // files that stay are harmless
  }

  /// Returns the folder of the database at `path`, independent of links in it. The folder is moved and deleted with the
  /// file.
  static func path(besideDatabase path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-blobs"
  }

  func path(of sha256: String) -> String { "\(root)/\(sha256.prefix(2))/\(sha256)" }

  /// Returns the size of a blob's file, or `nil` if its bytes are not on this device.
  func size(of sha256: String) -> Int64? { ContentFile.size(of: path(of: sha256)) }

  /// Writes the bytes that `next` returns until it returns none. Memory is bounded by what it returns at a time.
  func store(_ next: () throws -> [UInt8]) throws -> (sha256: String, size: Int64) {
    try PrivateFolder.make(root + "/incoming")
    let temporary = "\(root)/incoming/\(UUIDv7.make())"
    var hash = SHA256()
    var size: Int64 = 0
    do {
      let file = try OpenFile(temporary, O_RDWR | O_CREAT | O_EXCL)
      while true {
        let piece = try next()
        if piece.isEmpty { break }
        try file.write(piece, at: size)
        hash.update(data: piece)
        size += Int64(piece.count)
      }
      try file.sync()
      let sha256 = hash.finalize().hexadecimal
      try publish(temporary, as: sha256)
      return (sha256, size)
    } catch {
      ContentFile.remove(temporary)
      throw error
    }
  }

  private func publish(_ temporary: String, as sha256: String) throws {
    let path = path(of: sha256)
    try keep(path) {
      try PrivateFolder.make("\(root)/\(sha256.prefix(2))")
      try ContentFile.publish(temporary, as: path)
    }
  }

  /// Runs `body`, which writes the file at `path`. Throws `BothyError` `.cannotOpen`, and leaves no file, if the
  /// database was deleted before or meanwhile, because the folder may be deleted already.
  private func keep(_ path: String, _ body: () throws -> Void) throws {
    try file.check()
    try body()
    do { try file.check() } catch {
      ContentFile.remove(path)
      throw error
    }
  }

  /// Returns bytes of a blob from `offset`, unchecked. A caller that reads all of them compares the checksum.
  func read(_ sha256: String, at offset: Int64, count: Int) throws -> [UInt8] {
    try OpenFile(path(of: sha256), O_RDONLY).read(at: offset, count: count)
  }

  /// Returns true if the file has the content of its name. Reads all of it. Throws `.notFound` if the file doesn't
  /// exist.
  func isIntact(_ sha256: String) throws -> Bool {
    try ContentFile.digest(of: path(of: sha256)).sha256 == sha256
  }

  func remove(_ sha256: String) {
    ContentFile.remove(path(of: sha256))
    ContentFile.remove(partialPath(of: sha256))
  }

  func touch(_ sha256: String, at milliseconds: Int64) {
    ContentFile.touch(path(of: sha256), at: milliseconds)
  }

  /// Returns all complete files, in no order.
  func files() -> [File] {
    ContentFile.names(in: root).filter { $0.utf8.count == 2 }.flatMap { prefix in
      ContentFile.names(in: "\(root)/\(prefix)").filter { Blob.isName($0) }.compactMap { name in
        guard let size = size(of: name), let used = used(name) else { return nil }
        return File(sha256: name, size: size, used: used)
      }
    }
  }

  /// Returns the time of a blob's last use, in milliseconds since 1970, or `nil` if its bytes are not on this device.
  func used(_ sha256: String) -> Int64? { ContentFile.used(path(of: sha256)) }

  /// Deletes files that were begun before `time` and never completed.
  func removeUnfinished(before time: Int64) {
    for folder in ["incoming", "partial"] {
      for name in ContentFile.names(in: "\(root)/\(folder)") {
        let path = "\(root)/\(folder)/\(name)"
        if let used = ContentFile.used(path), used < time { ContentFile.remove(path) }
      }
    }
  }

  // MARK: downloads

  private func partialPath(of sha256: String) -> String { "\(root)/partial/\(sha256)" }

  /// Returns the number of bytes of an unfinished download.
  func received(of sha256: String) -> Int64 { ContentFile.size(of: partialPath(of: sha256)) ?? 0 }

  func append(_ bytes: [UInt8], to sha256: String, at offset: Int64) throws {
    let partial = partialPath(of: sha256)
    try keep(partial) {
      try PrivateFolder.make(root + "/partial")
      try OpenFile(partial, O_RDWR | O_CREAT).write(bytes, at: offset)
    }
  }

  /// Makes a finished download the blob's file. Returns false, with the download deleted, if its content doesn't match
  /// its name.
  func finish(_ sha256: String) throws -> Bool {
    let partial = partialPath(of: sha256)
    if ContentFile.size(of: partial) == nil { try append([], to: sha256, at: 0) }
    guard try ContentFile.digest(of: partial).sha256 == sha256 else {
      ContentFile.remove(partial)
      return false
    }
    try OpenFile(partial, O_RDWR).sync()
    try publish(partial, as: sha256)
    return true
  }
}
