package import BothyCache
import Foundation
import HTTPTypes
import Synchronization

/// The tiles of an archive on this device as entries of one source, which are never written.
///
/// The file may be replaced at any time. A read then opens the new one, and has a tile of one version or the other whole.
///
/// Opening costs the same for any number of tiles. A read costs a look at the file's attributes and one search, for
/// PMTiles up to three more reads for directories.
package final class ArchiveTier: DiskCache.Reader {
  private let path: String
  private let source: SourceID
  /// True if a tile that the archive lacks doesn't exist, as the archive is all of the source.
  private let isWhole: Bool
  private let opened: Mutex<Opened?>

  /// One version of the file.
  private struct Opened {
    let archive: BlockingArchive
    let stamp: FileFingerprint
    /// The entity tag of everything in this version, in the responses of a whole source.
    let tag: String

    init(_ archive: BlockingArchive, _ stamp: FileFingerprint) {
      (self.archive, self.stamp) = (archive, stamp)
      let hash = Data(stamp.validator.utf8).withUnsafeBytes { XXH64.hash($0) }
      tag = "\"\(String(hash, radix: 16))\""
    }
  }

  /// Opens a file whose tiles are before those of the source.
  ///
  /// Throws `BothyError`: `unavailable`, `notAnArchive` or `damagedArchive`.
  package init(path: String, as source: SourceID) throws(BothyError) {
    guard let stamp = FileFingerprint(path: path) else {
      throw BothyError(.unavailable, "The file \(path) does not exist. Check the path.")
    }
    self.path = path
    self.source = source
    isWhole = false
    opened = Mutex(Opened(try BlockingArchive(path: path), stamp))
  }

  /// Opens a file that is all of the source, so that the tiles that it lacks do not exist.
  ///
  /// The file may be missing or damaged. Reads then throw, until it is replaced.
  package init(whole path: String, as source: SourceID) {
    self.path = path
    self.source = source
    isWhole = true
    // The first read reports an error.
    let archive = try? BlockingArchive(path: path)
    opened = Mutex(FileFingerprint(path: path).flatMap { stamp in archive.map { Opened($0, stamp) } })
  }

  /// The metadata of the archive that was read last.
  var info: TileArchiveInfo? { opened.withLock { $0?.archive.info } }

  /// True if an entry is of the file that is there now. Looks at the attributes of the file.
  func isCurrent(_ metadata: EntryMetadata) -> Bool {
    guard let stamp = FileFingerprint(path: path) else { return false }
    return opened.withLock { $0?.stamp == stamp && $0?.tag == metadata.fields[.eTag] }
  }

  package func entry(_ key: ResourceKey) throws -> CacheEntry? {
    guard key.source == source, key.variant == 0 else { return nil }
    guard let tile = Tile(key) else { return key.name == Self.document ? try description() : nil }
    do { return try entry(tile) } catch let error as BothyError where error.code == .changedArchive {
      // The file was replaced after it was looked at.
      return try entry(tile)
    }
  }

  private func entry(_ tile: Tile) throws -> CacheEntry? {
    guard let opened = try current() else { return nil }
    let info = opened.archive.info
    guard let data = try opened.archive.data(of: tile), !data.isEmpty || info.keepsEmpty else {
      return isWhole ? CacheEntry(metadata: metadata(404, [:], opened), body: Data()) : nil
    }
    let content = try TileEntry(data, of: tile, info)
    return CacheEntry(metadata: metadata(200, content.fields, opened), body: content.body)
  }

  private static let document = ResourceKey.Name.path(TileArchiveInfo.documentPath)

  /// Returns the TileJSON document of the archive. The source of a tier has one of its own.
  private func description() throws -> CacheEntry? {
    guard isWhole, let opened = try current() else { return nil }
    let content = TileEntry(describing: opened.archive.info)
    return CacheEntry(metadata: metadata(200, content.fields, opened), body: content.body)
  }

  package func metadata(_ key: ResourceKey) throws -> EntryMetadata? { try entry(key)?.metadata }

  /// Returns the archive of the file that is there now. `nil` if there is none, which is an error for a whole source.
  private func current() throws -> Opened? {
    guard let stamp = FileFingerprint(path: path) else {
      guard isWhole else { return nil }
      throw BothyError(.unavailable, "The archive \(path) of the source \(source) isn't there. Put it there.")
    }
    return try opened.withLock { opened in
      if let opened, opened.stamp == stamp { return opened }
      let new = Opened(try BlockingArchive(path: path), stamp)
      opened = new
      return new
    }
  }

  private func metadata(_ status: Int, _ fields: HTTPFields, _ opened: Opened) -> EntryMetadata {
    var fields = fields
    // A server that has newer tiles than a tier knows no tag of a file.
    if isWhole { fields[.eTag] = opened.tag }
    let time = opened.stamp.milliseconds
    return EntryMetadata(
      status: status, fields: fields, requestedAt: time, receivedAt: time, validatedAt: time,
      freshness: FreshnessMetadata(lifetime: 0))
  }
}

/// An archive on this device, with reads that block their thread.
private enum BlockingArchive: Sendable {
  case mbtiles(MBTiles)
  case pmtiles(PMTilesVersion, FileRangeSource)
  case keyed(KeyedTiles)

  init(path: String) throws(BothyError) {
    do {
      switch try TileArchives.container(path: path) {
      case .mbtiles: self = .mbtiles(try MBTiles(path: path))
      case .keyed: self = .keyed(try KeyedTiles(path: path))
      case .pmtiles:
        let file = try FileRangeSource(path: path)
        let (head, validator) = try file.blockingBytes(PMTilesVersion.headRange, expecting: nil)
        let opening = try PMTilesVersion.Opening(head, validator)
        var parts: [Range<UInt64>: Data] = [:]
        for range in opening.ranges {
          parts[range] = try file.blockingBytes(range, expecting: validator).data
        }
        self = .pmtiles(try opening.version(parts), file)
      }
    } catch { throw MBTiles.failure(error, path) }
  }

  var info: TileArchiveInfo {
    switch self {
    case .mbtiles(let archive): archive.info
    case .pmtiles(let version, _): version.info
    case .keyed(let archive): archive.info
    }
  }

  func data(of tile: Tile) throws -> Data? {
    switch self {
    case .mbtiles(let archive): return try archive.blockingData(of: tile)
    case .keyed(let archive): return try archive.blockingData(of: tile)
    case .pmtiles(let version, let file):
      var search = PMTilesSearch(tile.hilbertID)
      var directory = version.root
      while true {
        switch try search.step(in: directory, of: version.header) {
        case .absent: return nil
        case .content(let range): return try Self.whole(range, file, version)
        case .directory(let range):
          directory = try version.known(range) ?? version.keep(Self.whole(range, file, version), of: range)
        }
      }
    }
  }

  private static func whole(
    _ range: Range<UInt64>, _ file: FileRangeSource, _ version: PMTilesVersion
  ) throws -> Data {
    let data = try file.blockingBytes(range, expecting: version.validator).data
    try RangeReading.check(data, range)
    return data
  }
}
