import BothyStore
import Foundation

/// The first 127 bytes of a PMTiles archive (specification, version 3, section 3).
struct PMTilesHeader: Hashable, Sendable {
  static let size = 127

  let rootDirectory: Range<UInt64>
  let metadata: Range<UInt64>
  let leafDirectories: Range<UInt64>
  let tileData: Range<UInt64>
  let addressedTiles: UInt64
  let entries: UInt64
  let contents: UInt64
  let internalCompression: TileArchiveInfo.Compression
  let tileCompression: TileArchiveInfo.Compression
  let tileFormat: String?
  let zooms: ZoomRange
  let bounds: GeoBox

  /// The end of the last part.
  var end: UInt64 {
    max(
      max(rootDirectory.upperBound, metadata.upperBound),
      max(leafDirectories.upperBound, tileData.upperBound))
  }

  /// Reads a header. Throws `BothyError`: `notAnArchive` for another format or version, and `damagedArchive` for
  /// numbers that contradict each other.
  init(_ data: Data) throws(BothyError) {
    let bytes = [UInt8](data.prefix(Self.size))
    guard bytes.starts(with: Array("PMTiles".utf8)), bytes.count > 7 else {
      throw BothyError(.notAnArchive, "The bytes aren't a PMTiles archive: they do not begin with that name.")
    }
    guard bytes[7] == 3 else {
      throw BothyError(
        .notAnArchive, "The PMTiles archive has version \(bytes[7]); this version of Bothy reads version 3.")
    }
    guard bytes.count == Self.size else {
      throw BothyError(.damagedArchive, "The PMTiles archive ends within its header. Get it again.")
    }
    func number(_ offset: Int) -> UInt64 {
      (0..<8).reduce(0) { $0 | UInt64(bytes[offset + $1]) << UInt64(8 * $1) }
    }
    func degrees(_ offset: Int) -> Double {
      let bits = (0..<4).reduce(UInt32(0)) { $0 | UInt32(bytes[offset + $1]) << UInt32(8 * $1) }
      return Double(Int32(bitPattern: bits)) / 1e7
    }
    rootDirectory = try Self.range(number(8), number(16))
    metadata = try Self.range(number(24), number(32))
    leafDirectories = try Self.range(number(40), number(48))
    tileData = try Self.range(number(56), number(64))
    guard rootDirectory.size <= UInt64(Self.directoryLimit), metadata.size <= UInt64(Self.metadataLimit)
    else {
      throw BothyError(
        .damagedArchive,
        "The root directory or the metadata of the PMTiles archive is larger than any real one. Get it again."
      )
    }
    (addressedTiles, entries, contents) = (number(72), number(80), number(88))
    internalCompression = Self.compression(bytes[97])
    tileCompression = Self.compression(bytes[98])
    tileFormat = [1: "pbf", 2: "png", 3: "jpg", 4: "webp", 5: "avif"][bytes[99]]
    guard let zooms = try? ZoomRange(Int(bytes[100]), Int(bytes[101])) else {  // Reported here.
      throw BothyError(
        .damagedArchive, "The PMTiles archive has impossible zooms: \(bytes[100]) to \(bytes[101]).")
    }
    self.zooms = zooms
    let box = GeoBox(west: degrees(102), south: degrees(106), east: degrees(110), north: degrees(114))
    bounds = (try? box.checked()) ?? TileArchiveInfo.wholeMap  // Reading doesn't depend on it.
  }

  private static func range(_ start: UInt64, _ length: UInt64) throws(BothyError) -> Range<UInt64> {
    let (end, overflow) = start.addingReportingOverflow(length)
    guard !overflow else {
      throw BothyError(.damagedArchive, "The PMTiles archive has impossible offsets. Get it again.")
    }
    return start..<end
  }

  private static func compression(_ byte: UInt8) -> TileArchiveInfo.Compression {
    [1: .none, 2: .gzip, 3: .brotli, 4: .zstd][byte] ?? .unknown
  }
}
