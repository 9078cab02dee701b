internal import Foundation

/// The form of an entry in a file: the bytes, then the metadata, then the key, then a trailer.
///
/// The bytes come first, so that other programs can open the file. Every part is covered by a checksum, and the file
/// alone is enough to restore the entry.
///
/// | part | length |
/// |---|---|
/// | body | `bodyCount` |
/// | metadata, closed by its checksum | `metadataCount` |
/// | source, key | `sourceCount`, `nameCount` |
/// | trailer | 48 |
///
/// The trailer has the counts, the kind of the key (1 of a tile) plus twice its variant, the checksum of the body, the
/// checksum of the parts after the metadata, and the mark.
enum EntryFile {
  static let trailerSize = 48
  /// The mark of the trailer. Its last digit is the version of the form.
  private static let mark = UInt64(littleEndian: 0x31_79_68_74_6F_62_00_0A)

  struct Trailer {
    var bodyCount: Int
    var metadataCount: Int
    var sourceCount: Int
    var nameCount: Int
    var isTile: Bool
    var variant: UInt8
    var bodyChecksum: UInt64
    /// The length of the parts after the body.
    var tailCount: Int { metadataCount + sourceCount + nameCount + trailerSize }
  }

  /// Returns the bytes that follow the body.
  static func tail(
    _ key: ResourceKey, _ source: KnownSource, _ metadata: EntryMetadata, _ body: Data, _ checksum: UInt64
  )
    -> [UInt8]
  {
    var writer = ByteWriter()
    writer.bytes = MetadataCoding.encode(metadata, seed: source.seed(checksum))
    let metadataCount = writer.bytes.count
    writer.bytes.append(contentsOf: source.name)
    let nameStart = writer.bytes.count
    var isTile = false
    switch key.name {
    case .tile(let bits):
      writer.write(bits)
      isTile = true
    case .path(let path): path.withComposedUTF8 { writer.bytes.append(contentsOf: $0) }
    }
    let nameCount = writer.bytes.count - nameStart
    writer.write(UInt64(body.count))
    let kind = (isTile ? 1 : 0) + 2 * Int(key.variant)
    for count in [metadataCount, source.name.count, nameCount, kind] { writer.write(UInt32(count)) }
    writer.write(checksum)
    writer.write(
      writer.bytes.withUnsafeBytes { XXH64.hash(UnsafeRawBufferPointer(rebasing: $0[metadataCount...])) })
    writer.write(mark)
    return writer.bytes
  }

  /// Returns the trailer from the end of a file of `fileSize` bytes, or `nil` if it is damaged or of another form.
  static func trailer(of end: UnsafeRawBufferPointer, fileSize: Int) -> Trailer? {
    guard end.count >= trailerSize else { return nil }
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: end[(end.count - trailerSize)...]))
    guard let body = reader.read(UInt64.self), let metadata = reader.read(UInt32.self),
      let source = reader.read(UInt32.self), let name = reader.read(UInt32.self),
      let kind = reader.read(UInt32.self), kind < 2 * UInt32(ResourceKey.variantCount),
      let bodyChecksum = reader.read(UInt64.self), let checksum = reader.read(UInt64.self),
      reader.read(UInt64.self) == mark, let bodyCount = Int(exactly: body)
    else { return nil }
    let trailer = Trailer(
      bodyCount: bodyCount, metadataCount: Int(metadata), sourceCount: Int(source), nameCount: Int(name),
      isTile: kind & 1 == 1, variant: UInt8(kind >> 1), bodyChecksum: bodyChecksum)
    guard bodyCount <= fileSize, trailer.tailCount == fileSize - bodyCount else { return nil }
    let covered = trailer.sourceCount + trailer.nameCount + trailerSize
    if covered <= end.count {
      let bytes = UnsafeRawBufferPointer(rebasing: end[(end.count - covered)..<(end.count - 16)])
      guard XXH64.hash(bytes) == checksum else { return nil }
    }
    return trailer
  }

  /// True if a file is of a later form, which this version can't read.
  static func isNewer(_ end: UnsafeRawBufferPointer) -> Bool {
    guard end.count >= trailerSize else { return false }
    var reader = ByteReader(UnsafeRawBufferPointer(rebasing: end[(end.count - 8)...]))
    guard let found = reader.read(UInt64.self) else { return false }
    let digit = found >> 56
    return found << 8 == mark << 8 && digit > mark >> 56 && digit <= UInt64(UInt8(ascii: "9"))
  }

  /// True if the end of a file, with its key and source, belongs to the key.
  static func belongs(
    _ end: UnsafeRawBufferPointer, _ trailer: Trailer, to key: ResourceKey, _ source: KnownSource
  )
    -> Bool
  {
    let nameStart = end.count - trailerSize - trailer.nameCount
    let name = UnsafeRawBufferPointer(rebasing: end[nameStart..<(nameStart + trailer.nameCount)])
    let sourceName = end[(nameStart - trailer.sourceCount)..<nameStart]
    guard trailer.variant == key.variant, sourceName.elementsEqual(source.name) else { return false }
    switch key.name {
    case .tile(let bits):
      return trailer.isTile && name.count == 8
        && UInt64(littleEndian: name.loadUnaligned(as: UInt64.self)) == bits
    case .path(let path):
      return !trailer.isTile && path.withComposedUTF8 { $0.elementsEqual(name) }
    }
  }

  /// Returns the key in the end of a file.
  static func key(in end: UnsafeRawBufferPointer, _ trailer: Trailer) -> ResourceKey {
    let nameStart = end.count - trailerSize - trailer.nameCount
    let name = UnsafeRawBufferPointer(rebasing: end[nameStart..<(nameStart + trailer.nameCount)])
    let source = SourceID(String(decoding: end[(nameStart - trailer.sourceCount)..<nameStart], as: UTF8.self))
    if trailer.isTile, name.count == 8 {
      let bits = UInt64(littleEndian: name.loadUnaligned(as: UInt64.self))
      return ResourceKey(source, .tile(bits), variant: trailer.variant)
    }
    return ResourceKey(source, .path(String(decoding: name, as: UTF8.self)), variant: trailer.variant)
  }

  /// Returns the metadata in the end of a file, or `nil` if it is damaged.
  static func metadata(in end: UnsafeRawBufferPointer, _ trailer: Trailer, _ source: KnownSource)
    -> EntryMetadata?
  {
    let start = end.count - trailer.tailCount
    let bytes = UnsafeRawBufferPointer(rebasing: end[start..<(start + trailer.metadataCount)])
    return MetadataCoding.decode(bytes, seed: source.seed(trailer.bodyChecksum))
  }
}
