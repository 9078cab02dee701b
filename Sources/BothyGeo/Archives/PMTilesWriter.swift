import BothyCache
import BothyStore
package import Foundation
import Synchronization

/// A writer of PMTiles archives (version 3).
///
/// The tiles are in the order of the Hilbert curve. Each content is stored once, and adjacent tiles that share one are
/// one entry. Directories are packed with gzip.
///
/// Tiles can be added in any order. Until the archive is finished, contents are in a file beside it. Memory has about
/// forty bytes for each tile.
package final class PMTilesWriter: TileArchiveWriter {
  private let path: String
  private let lock: RegionLock
  private let state: Mutex<State>

  private struct State {
    var contents: PMTilesContents?
    /// The ids of the tiles and the numbers of their contents, in the order they were added.
    var tiles: [(id: UInt64, content: Int)] = []
    var zooms: (lowest: Int, highest: Int)?
    /// The number of contents that are packed with gzip.
    var packed = 0
  }

  package init(path: String) throws(BothyError) {
    guard !FileManager.default.fileExists(atPath: path) else { throw .taken(path) }
    let lock = try RegionLock.writing(path)
    (self.path, self.lock) = (path, lock)
    do { state = Mutex(State(contents: try PMTilesContents(path: path + ".contents"))) } catch {
      lock.end()
      throw error
    }
  }

  /// Adds a tile, unless it has no bytes, which the format can't represent.
  package func add(_ tile: Tile, _ data: Data) throws(BothyError) {
    if data.isEmpty { return }
    try state.withLock { state throws(BothyError) in
      let known = state.contents?.count
      guard let number = try state.contents?.add(data) else { throw closed }
      if number == known, Gzip.isPacked(data) { state.packed += 1 }
      state.tiles.append((tile.hilbertID, number))
      let zooms = state.zooms ?? (tile.zoom, tile.zoom)
      state.zooms = (min(zooms.lowest, tile.zoom), max(zooms.highest, tile.zoom))
    }
  }

  /// Finishes the file. Throws `BothyError` `unavailable` if no tile was added, as this format has no empty archives.
  package func finish(_ info: TileArchiveInfo) throws(BothyError) {
    try state.withLock { state throws(BothyError) in
      guard let contents = state.contents else { throw closed }
      guard let zooms = state.zooms else {
        throw BothyError(.unavailable, "\(path) has no tiles yet. Add some; PMTiles has no empty archive.")
      }
      do {
        let layout = Layout(state.tiles, contents)
        let (root, leaves) = try PMTilesDirectory.packed(layout.entries)
        let metadata = try Gzip.pack(Data(PMTilesMetadata.text(info).utf8))
        var header = PMTilesHeader.Fields(info, zooms: zooms, layout.counts)
        header.compression = Self.compression(info, packed: state.packed, of: contents.count)
        header.lengths = (root.count, metadata.count, leaves.count, layout.length)
        let file = try contents.output(path + ".partial")
        try file.write(contentsOf: header.encoded + root + metadata + leaves)
        try contents.copy(layout.order, to: file)
        try file.synchronize()
        try file.close()
        try FileManager.default.moveItem(atPath: path + ".partial", toPath: path)
        state.contents = nil
        defer { lock.end() }
        try contents.remove()
      } catch { throw PMTilesContents.failure(error, path) }
    }
  }

  package func cancel() throws(BothyError) {
    try state.withLock { state throws(BothyError) in
      guard let contents = state.contents else { return }
      state.contents = nil
      defer { lock.end() }
      // The file exists only if finishing failed.
      try? FileManager.default.removeItem(atPath: path + ".partial")
      do { try contents.remove() } catch { throw PMTilesContents.failure(error, path) }
    }
  }

  private var closed: BothyError {
    BothyError(.unavailable, "\(path) is finished. Begin another archive to write more.")
  }

  /// Returns the compression of all contents. The bytes decide about gzip, and `info` about other formats.
  private static func compression(
    _ info: TileArchiveInfo, packed: Int, of count: Int
  ) -> TileArchiveInfo.Compression {
    if packed == count { return .gzip }
    if packed > 0 { return .unknown }
    return [.brotli, .zstd].contains(info.tileCompression) ? info.tileCompression : .none
  }
}

extension PMTilesWriter {
  /// The layout of the file: the entries by id, and the contents in the order in which entries first use them.
  private struct Layout {
    var entries: [PMTilesDirectory.Entry] = []
    var order: [Int] = []
    var length: UInt64 = 0
    var tiles: UInt64 = 0

    init(_ added: [(id: UInt64, content: Int)], _ contents: PMTilesContents) {
      // Sorting keeps tiles of one id in the order they were added. The last one counts.
      let sorted = added.enumerated().sorted { ($0.element.id, $0.offset) < ($1.element.id, $1.offset) }
      var places = [UInt64?](repeating: nil, count: contents.count)
      for (place, tile) in sorted.enumerated() {
        let (id, content) = tile.element
        if place + 1 < sorted.count, sorted[place + 1].element.id == id { continue }
        tiles += 1
        let size = contents.length(content)
        let offset = places[content] ?? length
        if places[content] == nil {
          places[content] = offset
          order.append(content)
          length += size
        }
        if let last = entries.last, last.id + last.run == id, last.offset == offset {
          entries[entries.count - 1].run += 1
        } else {
          entries.append(PMTilesDirectory.Entry(id: id, offset: offset, length: size, run: 1))
        }
      }
    }

    var counts: (tiles: UInt64, entries: UInt64, contents: UInt64) {
      (tiles, UInt64(entries.count), UInt64(order.count))
    }
  }
}
