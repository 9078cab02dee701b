import BothyStore
import Crypto
import Foundation

/// The bytes of blobs on this device, in a folder beside the database file: one file for each content, named by its
/// SHA-256. What the files mean is in the table `bothy_blob`.
///
/// A file gets its name only when it is complete, durable and of the content that the name says; what is being
/// written lives in `incoming`, and downloads that go on in `partial`.
final class BlobFolder: Sendable {
  let root: String
  /// Whether the folder goes when the store does, as the store itself does.
  private let isTemporary: Bool

  struct File: Sendable {
    var sha256: String
    var size: Int64
    /// Milliseconds since 1970.
    var used: Int64
  }

  /// Makes nothing yet: a store without blobs has no folder.
  init(besideDatabase path: String?) {
    if let path {
      root = URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-blobs"
    } else {
      root =
        FileManager.default.temporaryDirectory.appendingPathComponent("bothy-blobs-\(UUIDv7.make())").path
    }
    isTemporary = path == nil
  }

  deinit {
    if isTemporary { try? FileManager.default.removeItem(atPath: root) }  // what is left harms nothing
  }

  /// The folder of the database at `path`, the same by whatever link it is reached: it moves and goes with the file.
  static func path(besideDatabase path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-blobs"
  }

  func path(of sha256: String) -> String { "\(root)/\(sha256.prefix(2))/\(sha256)" }

  /// The size of a blob's file, nil when its bytes are not here.
  func size(of sha256: String) -> Int64? { ContentFile.size(of: path(of: sha256)) }

  /// Writes the bytes that `next` gives until it gives none. Memory is bounded by what it gives at a time.
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
    try PrivateFolder.make("\(root)/\(sha256.prefix(2))")
    try ContentFile.publish(temporary, as: path(of: sha256))
  }

  /// Bytes of a blob from `offset`. Not checked: who reads all of it compares the checksum.
  func read(_ sha256: String, at offset: Int64, count: Int) throws -> [UInt8] {
    try OpenFile(path(of: sha256), O_RDONLY).read(at: offset, count: count)
  }

  /// Whether the file holds what its name says. Reads all of it. Throws `.notFound` when it is not here.
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

  /// All complete files, in no order.
  func files() -> [File] {
    ContentFile.names(in: root).filter { $0.utf8.count == 2 }.flatMap { prefix in
      ContentFile.names(in: "\(root)/\(prefix)").filter { Blob.isName($0) }.compactMap { name in
        guard let size = size(of: name), let used = ContentFile.used(path(of: name)) else { return nil }
        return File(sha256: name, size: size, used: used)
      }
    }
  }

  /// Removes what was begun before `time` and never became complete.
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

  /// How much of a download is here.
  func received(of sha256: String) -> Int64 { ContentFile.size(of: partialPath(of: sha256)) ?? 0 }

  func append(_ bytes: [UInt8], to sha256: String, at offset: Int64) throws {
    try PrivateFolder.make(root + "/partial")
    try OpenFile(partialPath(of: sha256), O_RDWR | O_CREAT).write(bytes, at: offset)
  }

  /// Makes a finished download the blob's file. False, with the download thrown away, when it is not what its name says.
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
