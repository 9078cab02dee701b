import BothyCache
import BothyStore
package import Foundation
import Synchronization

/// An archive of tiles that is read in parts (PMTiles, version 3), from a file or over HTTP.
///
/// Opening reads the first 16 KB, the metadata if it follows them, and the last byte, as an archive may be cut off. A
/// tile costs one read, and up to three more for directories that aren't cached. The last 64 directories are cached.
///
/// A missing tile costs a read of one byte, which detects that the archive was replaced. A replaced archive is detected
/// by the validator of the source. Its header is then read again and the tile requested once more.
package final class PMTiles: TileArchive {
  private let source: any ByteRangeSource
  private let state: Mutex<State>

  private struct State {
    var opened: Opened
    var directories: [Range<UInt64>: PMTilesDirectory] = [:]
    /// The directories in the order in which they were read.
    var order: [Range<UInt64>] = []
  }

  /// The header, root directory and metadata of one version of the archive.
  private struct Opened: Sendable {
    var header: PMTilesHeader
    var root: PMTilesDirectory
    var info: TileArchiveInfo
    var validator: String?
  }

  private static let directoryLimit = 16 << 20
  private static let keptDirectories = 64
  private static let depthLimit = 4

  /// Opens an archive. Throws `BothyError`: `.notAnArchive` for another format or version, `.damagedArchive`, or
  /// `.unavailable`.
  package init(_ source: any ByteRangeSource) async throws {
    self.source = source
    state = Mutex(State(opened: try await Self.open(source)))
  }

  package var info: TileArchiveInfo { state.withLock { $0.opened.info } }

  package func data(of tile: Tile) async throws -> Data? {
    do { return try await find(tile) } catch let error as BothyError where error.code == .changedArchive {
      let opened = try await Self.open(source)
      state.withLock { $0 = State(opened: opened) }
      return try await find(tile)
    }
  }

  /// Calls `body` for each tile. Reads each content once for adjacent tiles that share it.
  ///
  /// Throws `BothyError` `.damagedArchive` as soon as the archive has more tiles or other zooms than the header states.
  /// This limits what a few damaged bytes can cause.
  package func forEachTile(_ body: (Tile, Data) throws -> Void) async throws {
    let opened = state.withLock { $0.opened }
    var walk = Walk(opened.header)
    try await visit(opened.root, opened, depth: 0, &walk, body)
  }

  /// The tiles and directories that may still follow in a walk over an archive, according to its header.
  private struct Walk {
    /// The ids of the header's zooms.
    let ids: Range<UInt64>
    /// The number of remaining tiles.
    var tiles: UInt64
    /// The lowest id that the next entry may have. Entries are in order, each once.
    var next: UInt64
    /// The number of remaining directories, at most one for each tile.
    var directories: UInt64
    /// The number of tiles that directories may still claim. It is limited by the size of the directories.
    private(set) var most: UInt64

    private static let tilesOfSmallest: UInt64 = 10_000_000
    private static let tilesPerByte: UInt64 = 1000

    init(_ header: PMTilesHeader) {
      ids = Tile.firstID(header.zooms.lowest)..<Tile.firstID(header.zooms.highest + 1)
      let room = ids.upperBound - ids.lowerBound
      tiles = header.addressedTiles == 0 ? room : min(header.addressedTiles, room)
      directories = tiles
      next = ids.lowerBound
      // Sizes of ranges within a file can't overflow.
      let bytes =
        UInt64(clamping: header.rootDirectory.count) + UInt64(clamping: header.leafDirectories.count)
      most = Self.tilesOfSmallest + min(bytes, 1 << 40) * Self.tilesPerByte
    }

    mutating func enter() throws(BothyError) {
      guard directories > 0 else { throw PMTilesDirectory.damaged }
      directories -= 1
    }

    /// Returns the ids of an entry's tiles and subtracts them from the rest.
    mutating func take(_ entry: PMTilesDirectory.Entry) throws(BothyError) -> Range<UInt64> {
      guard entry.id >= next, entry.id < ids.upperBound, entry.run <= tiles,
        entry.run <= ids.upperBound - entry.id
      else { throw PMTilesDirectory.beyond }
      guard entry.run <= most else { throw PMTilesDirectory.endless(entry.run) }
      most -= entry.run
      tiles -= entry.run
      next = entry.id + entry.run
      return entry.id..<next
    }
  }

  private func find(_ tile: Tile) async throws -> Data? {
    let opened = state.withLock { $0.opened }
    let id = tile.hilbertID
    var directory = opened.root
    for _ in 0..<Self.depthLimit {
      guard let entry = directory.entry(id) else {
        _ = try await source.bytes(0..<1, expecting: opened.validator)
        return nil
      }
      if entry.run > 0 { return try await content(entry, opened) }
      directory = try await self.directory(entry, opened)
    }
    throw PMTilesDirectory.damaged
  }

  private func visit(
    _ directory: PMTilesDirectory, _ opened: Opened, depth: Int, _ walk: inout Walk,
    _ body: (Tile, Data) throws -> Void
  ) async throws {
    guard depth < Self.depthLimit else { throw PMTilesDirectory.damaged }
    for entry in directory.entries {
      if entry.run == 0 {
        try walk.enter()
        try await visit(self.directory(entry, opened), opened, depth: depth + 1, &walk, body)
        continue
      }
      let ids = try walk.take(entry)
      let data = try await content(entry, opened)
      for id in ids {
        // The only possible error is an id that no tile has.
        guard let tile = try? Tile(hilbertID: id) else { throw PMTilesDirectory.damaged }
        try body(tile, data)
      }
    }
  }

  private func content(_ entry: PMTilesDirectory.Entry, _ opened: Opened) async throws -> Data {
    try await Self.read(Self.part(entry, of: opened.header.tileData), source, opened.validator)
  }

  private func directory(
    _ entry: PMTilesDirectory.Entry, _ opened: Opened
  ) async throws -> PMTilesDirectory {
    let range = try Self.part(entry, of: opened.header.leafDirectories)
    if let known = state.withLock({ $0.directories[range] }) { return known }
    let packed = try await Self.read(range, source, opened.validator)
    let directory = try PMTilesDirectory(Self.unpack(packed, opened.header))
    state.withLock { state in
      guard state.opened.validator == opened.validator else { return }
      if state.directories.updateValue(directory, forKey: range) == nil { state.order.append(range) }
      if state.order.count > Self.keptDirectories { state.directories[state.order.removeFirst()] = nil }
    }
    return directory
  }
}

extension PMTiles {
  private static func open(_ source: any ByteRangeSource) async throws -> Opened {
    // The header and the root directory are in the first 16 KB (section 2).
    let head = try await source.bytes(0..<16_384, expecting: nil)
    let header = try PMTilesHeader(head.data)
    let end = header.end
    if end > UInt64(head.data.count), end > 0 {
      let last = try await source.bytes(end - 1..<end, expecting: head.validator).data
      guard !last.isEmpty else {
        throw BothyError(
          .damagedArchive, "The PMTiles archive was cut off: it ends before byte \(end). Get it again.")
      }
    }
    let root = try await slice(header.rootDirectory, head, source)
    let metadata = try await slice(header.metadata, head, source)
    return Opened(
      header: header, root: try PMTilesDirectory(unpack(root, header)),
      info: info(header, metadata.isEmpty ? Data() : try unpack(metadata, header)), validator: head.validator)
  }

  private static func slice(
    _ range: Range<UInt64>, _ head: (data: Data, validator: String?), _ source: any ByteRangeSource
  ) async throws -> Data {
    guard range.upperBound <= UInt64(head.data.count) else {
      return try await read(range, source, head.validator)
    }
    return head.data.dropFirst(Int(range.lowerBound)).prefix(range.count)
  }

  /// Returns all bytes of a range. Throws `BothyError` `.damagedArchive` if the archive ends before.
  private static func read(
    _ range: Range<UInt64>, _ source: any ByteRangeSource, _ validator: String?
  ) async throws -> Data {
    guard range.upperBound - range.lowerBound <= 1 << 30 else { throw PMTilesDirectory.damaged }
    let data = try await source.bytes(range, expecting: validator).data
    guard data.count == range.count else {
      throw BothyError(
        .damagedArchive, "The PMTiles archive ends before byte \(range.upperBound). Get it again.")
    }
    return data
  }

  private static func part(
    _ entry: PMTilesDirectory.Entry, of whole: Range<UInt64>
  ) throws(BothyError) -> Range<UInt64> {
    let room = whole.upperBound - whole.lowerBound
    guard entry.offset <= room, entry.length <= room - entry.offset else { throw PMTilesDirectory.damaged }
    let start = whole.lowerBound + entry.offset
    return start..<start + entry.length
  }

  private static func unpack(_ data: Data, _ header: PMTilesHeader) throws(BothyError) -> Data {
    switch header.internalCompression {
    case .none: return data
    case .gzip:
      do { return try Gzip.unpack(data, limit: directoryLimit) } catch { throw PMTilesDirectory.damaged }
    case .brotli, .zstd, .unknown:
      throw BothyError(
        .notAnArchive,
        "The directories of the PMTiles archive are packed with \(header.internalCompression); gzip is read. Pack it "
          + "again with `pmtiles convert`.")
    }
  }

  private static func info(_ header: PMTilesHeader, _ json: Data) -> TileArchiveInfo {
    // Unreadable metadata counts as empty.
    let members = (try? JSONValue(parsing: json))?.objectValue ?? [:]
    let texts = members.mapValues { $0.stringValue ?? $0.canonicalText }
    return TileArchiveInfo(
      container: .pmtiles, name: texts["name"], attribution: texts["attribution"],
      tileFormat: header.tileFormat, tileCompression: header.tileCompression, zooms: header.zooms,
      bounds: header.bounds, tileCount: Int(clamping: header.addressedTiles),
      contentCount: Int(clamping: header.contents), metadata: texts)
  }
}
