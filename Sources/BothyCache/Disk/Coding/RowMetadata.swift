/// The form of an entry's metadata in a row: what it has for itself beside its frame, closed by a checksum.
///
/// The checksum also covers the frame, the bytes of the entry and its source. Without a frame the row has the whole
/// form of `MetadataCoding`.
enum RowMetadata {
  /// The year 2020, so that times are short.
  private static let epoch: Int64 = 1_577_836_800_000

  /// Metadata that is ready for a row, before it is known which frames the index has.
  struct Form: Sendable {
    let frame: MetadataFrame?
    /// The entry's own part beside the frame, or the whole form without one.
    let bytes: [UInt8]
    private let metadata: EntryMetadata
    private let seed: UInt64

    init(_ metadata: EntryMetadata, seed: UInt64) {
      frame = MetadataFrame(of: metadata)
      bytes =
        frame.map { RowMetadata.encode(metadata, $0, seed: seed) }
        ?? MetadataCoding.encode(metadata, seed: seed)
      self.metadata = metadata
      self.seed = seed
    }

    /// The form that needs no frame.
    var whole: [UInt8] { frame == nil ? bytes : MetadataCoding.encode(metadata, seed: seed) }
  }

  private static func encode(_ metadata: EntryMetadata, _ frame: MetadataFrame, seed: UInt64) -> [UInt8] {
    let received = metadata.receivedAt
    var writer = ByteWriter()
    writer.write(short: received &- epoch)
    writer.write(short: metadata.requestedAt &- received)
    writer.write(short: metadata.validatedAt &- received)
    writer.write(short: metadata.freshness.initialAge)
    if let time = metadata.freshness.createdAt { writer.write(short: time &- received) }
    if let time = metadata.expiresAt { writer.write(short: time &- received) }
    if frame.present.contains(.lifetime) { writer.write(short: metadata.freshness.lifetime) }
    if frame.present.contains(.cameCoded) {
      writer.write(short: metadata.packing?.size ?? -1)
      if let packing = metadata.packing { writer.write(packing.checksum) }
    }
    writer.bytes.append(contentsOf: frame.ownValues(metadata))
    writer.write(UInt32(truncatingIfNeeded: XXH64.hash(writer.bytes, seed: seed ^ frame.checksum)))
    return writer.bytes
  }

  /// Decodes metadata. Returns `nil` if the bytes differ from the encoded ones.
  /// - Parameter frame: the frame that the row names, or `nil` if it names none.
  static func decode(_ bytes: UnsafeRawBufferPointer, _ frame: MetadataFrame?, seed: UInt64) -> EntryMetadata?
  {
    guard let frame else { return MetadataCoding.decode(bytes, seed: seed) }
    guard bytes.count > 4 else { return nil }
    let content = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 4)])
    let checksum = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: content.count, as: UInt32.self))
    guard UInt32(truncatingIfNeeded: XXH64.hash(content, seed: seed ^ frame.checksum)) == checksum else {
      return nil
    }
    var reader = ByteReader(content)
    guard let since = reader.readShort(), let requested = reader.readShort(),
      let validated = reader.readShort(), let age = reader.readShort()
    else { return nil }
    let received = since &+ epoch
    let present = frame.present
    var createdAt: Int64?
    var expiresAt: Int64?
    var lifetime: Int64?
    if present.contains(.createdAt) { createdAt = reader.readShort().map { $0 &+ received } }
    if present.contains(.expiresAt) { expiresAt = reader.readShort().map { $0 &+ received } }
    if present.contains(.lifetime) { lifetime = reader.readShort() }
    var packing: StoredDigest?
    if present.contains(.cameCoded), let size = reader.readShort(), size >= 0 {
      packing = reader.read(UInt64.self).map { StoredDigest(size: size, checksum: $0) }
    }
    var metadata = frame.metadata(
      requestedAt: requested &+ received, receivedAt: received, validatedAt: validated &+ received,
      initialAge: age, createdAt: createdAt, expiresAt: expiresAt, lifetime: lifetime,
      values: Array(content[reader.offset...]))
    metadata.packing = packing
    return metadata
  }
}
