package import Foundation
import Synchronization

/// An archive of tiles that is read in parts (PMTiles, version 3), from a file or over HTTP.
///
/// Opening reads the first 16 KB, the metadata if it follows them, and the last byte, as an archive may be cut off. A
/// tile costs one read, and up to three more for directories that aren't kept in memory.
///
/// A missing tile costs a read of one byte, which detects that the archive was replaced. A replaced archive is detected
/// by the validator of the source. Its header is then read again and the tile requested once more. A walk over many
/// tiles throws instead, so that it never has tiles of two versions.
package final class PMTiles: TileArchive {
  private let source: any ByteRangeSource
  private let current: Mutex<PMTilesVersion>

  /// Opens an archive. Throws `BothyError`: `notAnArchive` for another format or version, `damagedArchive`, or
  /// `unavailable`.
  package init(_ source: any ByteRangeSource) async throws {
    self.source = source
    current = Mutex(try await PMTilesVersion.open(source))
  }

  private var version: PMTilesVersion { current.withLock { $0 } }

  package var info: TileArchiveInfo { version.info }

  package func data(of tile: Tile) async throws -> Data? {
    do { return try await find(tile, in: version) } catch let error as BothyError
      where error.code == .changedArchive
    {
      let opened = try await PMTilesVersion.open(source)
      current.withLock { $0 = opened }
      return try await find(tile, in: opened)
    }
  }

  private func find(_ tile: Tile, in version: PMTilesVersion) async throws -> Data? {
    guard let range = try await version.locate(tile.hilbertID, in: source) else {
      _ = try await source.bytes(0..<1, expecting: version.validator)
      return nil
    }
    return try await RangeReading.whole(range, of: source, version.validator)
  }

  /// Calls `body` for each tile in the order of their ids. Reads contents that are near each other together, and those
  /// that near tiles share once.
  ///
  /// Throws `BothyError` `damagedArchive` as soon as the archive has more tiles or other zooms than the header states.
  package func forEachTile(_ body: (Tile, Data) throws -> Void) async throws {
    let version = version
    var walk = PMTilesWalk(version.header, root: version.root)
    var window = Window()
    while let step = try walk.step() {
      switch step {
      case .directory(let range): try walk.enter(try await version.directory(range, of: source))
      case .tiles(let ids, let content):
        if !window.isEmpty, window.isFull(with: content) { try await empty(&window, of: version, body) }
        window.append(ids, content)
      }
    }
    try await empty(&window, of: version, body)
  }

  /// Calls `body` for each of these tiles that the archive has, in the order of their ids.
  ///
  /// Reads directories and contents that are near each other together, so that a region of a remote archive costs tens
  /// of requests. Throws `BothyError` `changedArchive` if the archive is replaced in the meantime.
  func forEachTile(of tiles: some Sequence<Tile>, _ body: (Tile, Data) throws -> Void) async throws {
    let version = version
    let ids = tiles.map(\.hilbertID).sorted()
    for start in stride(from: 0, to: ids.count, by: Self.searchesAtOnce) {
      let part = Array(ids[start..<min(start + Self.searchesAtOnce, ids.count)])
      let places = try await version.locate(part, in: source)
      var window = Window()
      for id in part {
        guard let content = places[id] else { continue }
        if !window.isEmpty, window.isFull(with: content) { try await empty(&window, of: version, body) }
        window.append(id..<id + 1, content)
      }
      try await empty(&window, of: version, body)
    }
  }

  /// The number of tiles that are searched together. Each costs about a hundred bytes of memory.
  private static let searchesAtOnce = 65_536

  /// Adjacent tiles whose contents are read together.
  private struct Window {
    private static let bytesLimit: UInt64 = 16 << 20
    private static let contentsLimit = 16_384

    private(set) var tiles: [(ids: Range<UInt64>, content: Range<UInt64>)] = []
    private var contents: Set<Range<UInt64>> = []
    private var bytes: UInt64 = 0

    var isEmpty: Bool { tiles.isEmpty }
    var ranges: [Range<UInt64>] { Array(contents) }

    func isFull(with content: Range<UInt64>) -> Bool {
      tiles.count >= Self.contentsLimit
        || !contents.contains(content) && bytes + content.size > Self.bytesLimit
    }

    mutating func append(_ ids: Range<UInt64>, _ content: Range<UInt64>) {
      tiles.append((ids, content))
      if contents.insert(content).inserted { bytes += content.size }
    }
  }

  private func empty(
    _ window: inout Window, of version: PMTilesVersion, _ body: (Tile, Data) throws -> Void
  ) async throws {
    let tiles = window.tiles
    let parts = try await RangeReading.read(window.ranges, of: source, version.validator)
    window = Window()
    for (ids, content) in tiles {
      try Task.checkCancellation()
      guard let data = parts[content] else { continue }
      for id in ids {
        // The only possible error is an id that no tile has.
        guard let tile = try? Tile(hilbertID: id) else { throw PMTilesDirectory.damaged }
        try body(tile, data)
      }
    }
  }
}
