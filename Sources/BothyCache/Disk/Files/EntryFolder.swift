internal import BothyStore
internal import Foundation
internal import Synchronization

/// Entries in files of their own, below one folder.
///
/// A reader needs no lock, because a whole file receives its name by a rename, and an open file stays whole after its
/// name is removed. Writers hold the store's lock.
final class EntryFolder: Sendable {
  let root: String
  /// The folder of the sources' folders.
  let tree: String
  let incoming: String
  /// The folder of the bodies that are too large for a page.
  let bodies: String
  private let counter = Atomic<Int>(0)

  enum Finding {
    case entry(CacheEntry)
    case damaged
  }

  /// The description of an entry in its file.
  struct Description {
    var key: ResourceKey
    var metadata: EntryMetadata
    var bodyCount: Int
    var bodyChecksum: UInt64
    var fileSize: Int
  }

  init(_ root: String) {
    self.root = root
    tree = root + "/tiledb"
    incoming = root + "/incoming"
    bodies = root + "/bodies"
  }

  /// Returns the path of an entry's file as bytes, closed by a zero.
  func path(_ key: ResourceKey, _ source: KnownSource) -> [UInt8] {
    var path: [UInt8] = []
    path.reserveCapacity(source.folder.count + 64)
    path.append(contentsOf: source.folder)
    PathEncoding.append(key.name, to: &path)
    if key.variant > 0 { path.append(UInt8(ascii: "0") + key.variant) }
    path.append(0)
    return path
  }

  /// Creates the permanent folders. Does nothing if files are only for the few large entries and none exist.
  func prepare(isUsed: Bool) throws {
    guard isUsed || FileBytes.size(root) != nil else { return }
    for folder in [tree, incoming] { try PrivateFolder.make(folder) }
  }

  // MARK: reading

  /// Reads an entry with one open, one read and one close.
  ///
  /// Returns `nil` if the file is missing, belongs to another key or is of a later form.
  func read(_ key: ResourceKey, _ source: KnownSource) throws -> Finding? {
    guard let content = try FileBytes.whole(path(key, source)) else { return nil }
    guard let trailer = EntryFile.trailer(of: content.bytes, fileSize: content.bytes.count) else {
      defer { content.free() }
      return EntryFile.isNewer(content.bytes) ? nil : .damaged
    }
    guard EntryFile.belongs(content.bytes, trailer, to: key, source) else {
      content.free()
      return nil
    }
    let body = UnsafeRawBufferPointer(rebasing: content.bytes[..<trailer.bodyCount])
    guard BodyChecksum.of(body) == trailer.bodyChecksum,
      let metadata = EntryFile.metadata(in: content.bytes, trailer, source)
    else {
      content.free()
      return .damaged
    }
    return .entry(CacheEntry(metadata: metadata, body: content.data(trailer.bodyCount)))
  }

  /// Reads the description of a file from its end, without its body. Returns `nil` if it is missing or damaged.
  func describe(_ path: [UInt8], _ sources: SourceBook) throws -> Description? {
    guard let (end, size) = try FileBytes.end(path, 4096) else { return nil }
    defer { end.free() }
    guard let trailer = EntryFile.trailer(of: end.bytes, fileSize: size) else { return nil }
    if trailer.tailCount > end.bytes.count {
      guard let (more, sizeNow) = try FileBytes.end(path, trailer.tailCount) else { return nil }
      defer { more.free() }
      guard sizeNow == size, let again = EntryFile.trailer(of: more.bytes, fileSize: size),
        again.tailCount <= more.bytes.count
      else { return nil }
      return description(more.bytes, again, size, sources)
    }
    return description(end.bytes, trailer, size, sources)
  }

  private func description(
    _ end: UnsafeRawBufferPointer, _ trailer: EntryFile.Trailer, _ size: Int, _ sources: SourceBook
  ) -> Description? {
    let key = EntryFile.key(in: end, trailer)
    guard let metadata = EntryFile.metadata(in: end, trailer, sources.source(key.source)) else { return nil }
    return Description(
      key: key, metadata: metadata, bodyCount: trailer.bodyCount, bodyChecksum: trailer.bodyChecksum,
      fileSize: size)
  }

  // MARK: bodies

  /// Returns the path of a body's file, closed by a zero. The file has exactly the bytes.
  func path(_ name: BodyName) -> [UInt8] {
    Array("\(bodies)/\(name.checksum.hexadecimal)-\(name.size)".utf8) + [0]
  }

  /// Returns a body, or `nil` if its file is missing or damaged.
  func body(_ name: BodyName) throws -> Data? {
    guard let content = try FileBytes.whole(path(name)) else { return nil }
    guard content.bytes.count == name.size, BodyChecksum.of(content.bytes) == name.checksum else {
      content.free()
      return nil
    }
    return content.data(content.bytes.count)
  }

  /// Writes a body's file unless it exists, and replaces a damaged one.
  ///
  /// Returns false if the file has other bytes with the same checksum, which then have no file.
  func writeBody(_ name: BodyName, _ data: Data) throws -> Bool {
    if let known = try body(name) { return known == data }
    try write(path(name), data, [])
    return true
  }

  func removeBody(_ name: BodyName) { path(name).withPath { _ = unlink($0) } }

  /// Calls `body` with each file of a body. A name that isn't one of a body is passed as `nil`.
  func forEachBody(_ body: (_ path: [UInt8], _ name: BodyName?) throws -> Void) throws {
    // A missing folder has no files.
    for file in (try? FileManager.default.contentsOfDirectory(atPath: bodies)) ?? [] {
      let parts = file.split(separator: "-")
      var name: BodyName?
      if parts.count == 2, parts[0].count == 16, let checksum = UInt64(parts[0], radix: 16),
        let size = Int64(parts[1])
      {
        name = BodyName(checksum: checksum, size: size)
      }
      try body(Array("\(bodies)/\(file)".utf8) + [0], name)
    }
  }

  // MARK: writing

  /// Creates the missing folders above the file, and returns their number.
  func makeFolders(above path: [UInt8]) throws -> Int {
    guard let slash = path.lastIndex(of: UInt8(ascii: "/")), slash > 0 else { return 0 }
    let folder = Array(path[..<slash]) + [0]
    if folder.withPath({ mkdir($0, 0o700) }) == 0 { return 1 }
    if errno == EEXIST { return 0 }
    guard errno == ENOENT else { throw DiskError.last(folder.pathText) }
    if slash <= root.utf8.count {
      try prepare(isUsed: true)
      return 0
    }
    return try makeFolders(above: Array(folder.dropLast())) + makeFolders(above: path)
  }

  /// Writes a whole file under another name and renames it, so that readers see the old or the new one.
  func write(_ path: [UInt8], _ body: Data, _ tail: [UInt8]) throws {
    let number = counter.add(1, ordering: .relaxed).newValue
    let temporary = Array("\(incoming)/\(getpid())-\(number)".utf8) + [0]
    do {
      do { try FileBytes.write(temporary, body, tail) } catch let error as BothyError
        where error.code == .cannotOpen
      {
        try prepare(isUsed: true)
        try FileBytes.write(temporary, body, tail)
      }
      var code = temporary.withPath { from in path.withPath { rename(from, $0) } }
      if code != 0 && errno == ENOENT {
        _ = try makeFolders(above: path)
        code = temporary.withPath { from in path.withPath { rename(from, $0) } }
      }
      guard code == 0 else { throw DiskError.last(path.pathText) }
    } catch {
      temporary.withPath { _ = unlink($0) }
      throw error
    }
  }

  /// Deletes a file and the empty folders above it. Returns the number of deleted folders.
  func remove(_ path: [UInt8]) -> Int {
    guard path.withPath({ unlink($0) }) == 0 else { return 0 }
    var folders = 0
    var folder = path
    while let slash = folder.lastIndex(of: UInt8(ascii: "/")), slash > tree.utf8.count {
      folder = Array(folder[..<slash]) + [0]
      guard folder.withPath({ rmdir($0) }) == 0 else { break }
      folders += 1
    }
    return folders
  }

  /// Deletes unfinished files that never received their names. Call it with the lock held, so that no write is running.
  func removeUnfinished() -> (files: Int, bytes: Int64) {
    // Without the folder, no file was begun.
    let names = (try? FileManager.default.contentsOfDirectory(atPath: incoming)) ?? []
    var removed = (files: 0, bytes: Int64(0))
    for name in names {
      removed.bytes += FileBytes.size("\(incoming)/\(name)") ?? 0
      if unlink("\(incoming)/\(name)") == 0 { removed.files += 1 }
    }
    return removed
  }

  /// Calls `body` with every file, and returns the number of folders.
  func forEachFile(_ body: (_ path: [UInt8]) throws -> Void) throws -> Int {
    var folders = 0
    guard let enumerator = FileManager.default.enumerator(atPath: tree) else { return 0 }
    while let name = enumerator.nextObject() as? String {
      if enumerator.fileAttributes?[.type] as? FileAttributeType == .typeDirectory {
        folders += 1
      } else {
        try body(Array("\(tree)/\(name)".utf8) + [0])
      }
    }
    return folders
  }
}
