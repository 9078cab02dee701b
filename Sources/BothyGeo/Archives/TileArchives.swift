import BothyCache
import BothyStore
import Foundation

/// Opens, creates and downloads archives.
public enum TileArchives {
  /// Opens a file by its content, independent of its name. Costs the same for any number of tiles.
  ///
  /// Blocks for a few reads, and never writes to the file. It stays open until the archive is released. A SQLite file
  /// that needs more than 20 seconds for one row counts as damaged.
  ///
  /// ```swift
  /// let hills = try await TileArchives.open(path: "hills.pmtiles")
  /// let bytes = try await hills.content(of: tile)
  /// ```
  ///
  /// - Throws: `BothyError`: `unavailable` if the file can't be read, and `notAnArchive` if it is of none of the three
  ///   kinds. Throws `damagedArchive` for a file that is cut off or can't be read, which has to be got again.
  public static func open(path: String) async throws -> any TileArchive {
    switch try container(path: path) {
    case .pmtiles: try await PMTiles(FileRangeSource(path: path))
    case .keyed: try KeyedTiles(path: path)
    case .mbtiles: try MBTiles(path: path)
    }
  }

  /// Returns the kind of a file by its content. Throws `BothyError` `notAnArchive` for other files.
  static func container(path: String) throws -> TileArchiveInfo.Container {
    let head = try FileRangeSource(path: path).blockingBytes(0..<16, expecting: nil).data
    if head.starts(with: Array("PMTiles".utf8)) { return .pmtiles }
    guard head.starts(with: Array("SQLite format 3".utf8)) else {
      throw BothyError(.notAnArchive, "\(path) is neither MBTiles nor PMTiles. The file was left as it is.")
    }
    return try KeyedTiles.isArchive(path) ? .keyed : .mbtiles
  }

  /// Opens a PMTiles file on a server, which is read by range requests. Requests its first 16 KB and its last byte.
  ///
  /// Larger directories and metadata cost up to two more requests. A tile costs a request, and up to three more for
  /// directories that weren't read yet. A tile that the archive lacks costs a request of one byte.
  /// `ResourceSource.init(_:archive:)` reads through a cache, which stores what came.
  ///
  /// If the archive is replaced on the server, the next read of a tile opens it again.
  ///
  /// - Throws: `BothyError`: `unavailable` if the server can't be reached or does not send parts of files. Throws
  ///   `notAnArchive`, `damagedArchive` or `.cancelled`.
  public static func open(url: String, loader: any ResourceLoader) async throws -> any TileArchive {
    try await PMTiles(HTTPRangeSource(url: url, loader: loader))
  }

  /// Begins a file, which gets its name when `finish` is called.
  ///
  /// Until then, its content is in files beside it with the endings `.partial` and `.contents`. One with the ending
  /// `.lock` keeps other writers of the file away.
  ///
  /// - Throws: `BothyError` `unavailable` if a file of this name exists or is being written, it can't be created, or the
  ///   container is `keyed`, which is only read.
  package static func writer(
    to path: String, as container: TileArchiveInfo.Container
  ) throws(BothyError) -> any TileArchiveWriter { try writer(of: container).init(path: path) }

  /// Returns the writer of a kind of file.
  static func writer(of container: TileArchiveInfo.Container) throws(BothyError) -> any TileArchiveWriter.Type
  {
    switch container {
    case .mbtiles: return MBTilesWriter.self
    case .pmtiles: return PMTilesWriter.self
    case .keyed:
      throw BothyError(
        .unavailable, "Archives of older map apps are read, not written. Choose MBTiles or PMTiles.")
    }
  }
}
