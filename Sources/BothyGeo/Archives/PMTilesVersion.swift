import BothyCache
import BothyStore
import Foundation
import Synchronization

/// One version of a PMTiles archive: its header, its directories and its metadata.
///
/// All of it belongs to one validator, so tiles of two versions are never mixed. Directories that were read are kept, up
/// to a limit of memory.
final class PMTilesVersion: Sendable {
  let header: PMTilesHeader
  let root: PMTilesDirectory
  let info: TileArchiveInfo
  /// The validator of the file when it was opened, or `nil` if none is known.
  let validator: String?
  private let kept = Mutex(KeptDirectories())

  /// The bytes of the file's beginning, which has the header and the root directory (section 2).
  static let headRange: Range<UInt64> = 0..<16_384

  /// The first read of an archive, and the further ranges that opening it needs.
  struct Opening {
    let header: PMTilesHeader
    fileprivate let head: Data
    private let validator: String?

    init(_ head: Data, _ validator: String?) throws(BothyError) {
      header = try PMTilesHeader(head)
      self.head = head
      self.validator = validator
    }

    /// The ranges to read: the last byte, as the archive may be cut off, and the parts beyond the head.
    var ranges: [Range<UInt64>] {
      let end = header.end
      let last = end > UInt64(head.count) ? [end - 1..<end] : []
      return last + [header.rootDirectory, header.metadata].filter { $0.upperBound > UInt64(head.count) }
    }

    /// Returns the opened archive. `parts` has the bytes of `ranges`.
    func version(_ parts: [Range<UInt64>: Data]) throws(BothyError) -> PMTilesVersion {
      for range in ranges where parts[range]?.count != Int(range.size) {
        throw BothyError(
          .damagedArchive, "The PMTiles archive was cut off: it ends before byte \(header.end). Get it again."
        )
      }
      let root = try PMTilesDirectory(
        PMTilesVersion.unpack(part(header.rootDirectory, parts), header, limit: PMTilesHeader.directoryLimit))
      let packed = part(header.metadata, parts)
      let json =
        packed.isEmpty
        ? packed : try PMTilesVersion.unpack(packed, header, limit: PMTilesHeader.metadataLimit)
      return PMTilesVersion(header, root, PMTilesVersion.info(header, json), validator)
    }

    private func part(_ range: Range<UInt64>, _ parts: [Range<UInt64>: Data]) -> Data {
      parts[range] ?? head.dropFirst(Int(range.lowerBound)).prefix(Int(range.size))
    }
  }

  private init(
    _ header: PMTilesHeader, _ root: PMTilesDirectory, _ info: TileArchiveInfo, _ validator: String?
  ) {
    self.header = header
    self.root = root
    self.info = info
    self.validator = validator
  }

  /// Opens an archive with one read, or two for one that is larger than its head.
  static func open(_ source: some ByteRangeSource) async throws -> PMTilesVersion {
    let (head, validator) = try await source.bytes(headRange, expecting: nil)
    let opening = try Opening(head, validator)
    var parts: [Range<UInt64>: Data] = [:]
    for range in opening.ranges {
      parts[range] = try await source.bytes(range, expecting: validator).data
    }
    return try opening.version(parts)
  }

  // MARK: directories

  /// The directories that were read last, limited by their size in memory.
  private struct KeptDirectories {
    var directories: [Range<UInt64>: PMTilesDirectory] = [:]
    var order: [Range<UInt64>] = []
    var entries = 0

    /// About 16 MB.
    static let limit = 500_000
  }

  /// Returns a directory that was read before, or `nil`.
  func known(_ range: Range<UInt64>) -> PMTilesDirectory? { kept.withLock { $0.directories[range] } }

  /// Reads a directory from its packed bytes, and keeps it.
  func keep(_ packed: Data, of range: Range<UInt64>) throws(BothyError) -> PMTilesDirectory {
    let directory = try PMTilesDirectory(
      Self.unpack(packed, header, limit: PMTilesHeader.directoryLimit))
    kept.withLock { kept in
      guard kept.directories.updateValue(directory, forKey: range) == nil else { return }
      kept.order.append(range)
      kept.entries += directory.entries.count
      while kept.entries > KeptDirectories.limit, kept.order.count > 1 {
        kept.entries -= kept.directories.removeValue(forKey: kept.order.removeFirst())?.entries.count ?? 0
      }
    }
    return directory
  }

  func directory(
    _ range: Range<UInt64>, of source: some ByteRangeSource
  ) async throws -> PMTilesDirectory {
    if let known = known(range) { return known }
    return try keep(try await RangeReading.whole(range, of: source, validator), of: range)
  }

  // MARK: places of tiles

  /// Returns the range of a tile's bytes, or `nil` if the archive lacks it. Reads the directories that aren't kept.
  func locate(_ id: UInt64, in source: some ByteRangeSource) async throws -> Range<UInt64>? {
    var search = PMTilesSearch(id)
    var directory = root
    while true {
      switch try search.step(in: directory, of: header) {
      case .absent: return nil
      case .content(let range): return range
      case .directory(let range): directory = try await self.directory(range, of: source)
      }
    }
  }

  /// Returns the ranges of many tiles' bytes, without those that the archive lacks.
  ///
  /// Reads directories level by level, near ones together, each once.
  func locate(
    _ ids: [UInt64], in source: some ByteRangeSource
  ) async throws -> [UInt64: Range<UInt64>] {
    var found: [UInt64: Range<UInt64>] = [:]
    var searches = ids.map { (PMTilesSearch($0), root) }
    while !searches.isEmpty {
      var open: [Range<UInt64>: [PMTilesSearch]] = [:]
      for (search, directory) in searches {
        var search = search
        switch try search.step(in: directory, of: header) {
        case .absent: break
        case .content(let range): found[search.id] = range
        case .directory(let range): open[range, default: []].append(search)
        }
      }
      var directories: [Range<UInt64>: PMTilesDirectory] = [:]
      for range in open.keys { directories[range] = known(range) }
      let missing = open.keys.filter { directories[$0] == nil }
      for (range, packed) in try await RangeReading.read(missing, of: source, validator) {
        directories[range] = try keep(packed, of: range)
      }
      searches = open.flatMap { range, searches in
        directories[range].map { directory in searches.map { ($0, directory) } } ?? []
      }
    }
    return found
  }

  // MARK: content

  private static func unpack(
    _ data: Data, _ header: PMTilesHeader, limit: Int
  ) throws(BothyError) -> Data {
    switch header.internalCompression {
    case .none:
      guard data.count <= limit else { throw PMTilesDirectory.damaged }
      return data
    case .gzip:
      do { return try Gzip.unpack(data, limit: limit) } catch { throw PMTilesDirectory.damaged }
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
