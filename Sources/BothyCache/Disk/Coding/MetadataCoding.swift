/// The form of an entry's metadata on disk, closed by a checksum, which also covers its bytes and its source.
enum MetadataCoding {
  private static let version: UInt8 = 1

  private struct Present: OptionSet {
    let rawValue: UInt8
    static let createdAt = Present(rawValue: 1)
    static let expiresAt = Present(rawValue: 2)
    static let valueType = Present(rawValue: 4)
    static let cameCoded = Present(rawValue: 8)
    static let packing = Present(rawValue: 16)
  }

  /// Encodes metadata.
  /// - Parameter seed: the value that the checksum covers besides the metadata, equal to that of `decode`.
  static func encode(_ metadata: EntryMetadata, seed: UInt64) -> [UInt8] {
    var present: Present = []
    if metadata.freshness.createdAt != nil { present.insert(.createdAt) }
    if metadata.expiresAt != nil { present.insert(.expiresAt) }
    if metadata.valueType != nil { present.insert(.valueType) }
    if metadata.cameCoded { present.insert(.cameCoded) }
    if metadata.packing != nil { present.insert(.packing) }
    var writer = ByteWriter()
    writer.bytes.reserveCapacity(160 + metadata.storedFields.bytes.count)
    writer.write(version)
    writer.write(present.rawValue)
    writer.write(metadata.freshness.flags.rawValue)
    writer.write(metadata.freshness.origin.rawValue)
    writer.write(Int32(truncatingIfNeeded: metadata.status))
    let freshness = metadata.freshness
    for number in [
      metadata.requestedAt, metadata.receivedAt, metadata.validatedAt, freshness.lifetime,
      freshness.initialAge,
      freshness.createdAt ?? 0, freshness.staleWhileRevalidate, freshness.staleIfError,
      metadata.expiresAt ?? 0,
      Int64(metadata.formatVersion),
    ] { writer.write(number) }
    writer.write(counted: metadata.storedFields.bytes)
    write(metadata.variedOn, to: &writer)
    if let type = metadata.valueType { writer.write(counted: type.utf8) }
    if let packing = metadata.packing {
      writer.write(packing.size)
      writer.write(packing.checksum)
    }
    writer.write(XXH64.hash(writer.bytes, seed: seed))
    return writer.bytes
  }

  /// Decodes metadata. Returns `nil` if the bytes differ from the encoded ones.
  static func decode(_ bytes: UnsafeRawBufferPointer, seed: UInt64) -> EntryMetadata? {
    guard bytes.count > 8 else { return nil }
    let content = UnsafeRawBufferPointer(rebasing: bytes[..<(bytes.count - 8)])
    let checksum = bytes.loadUnaligned(fromByteOffset: content.count, as: UInt64.self)
    guard XXH64.hash(content, seed: seed) == UInt64(littleEndian: checksum) else { return nil }
    var reader = ByteReader(content)
    guard reader.read(UInt8.self) == version, let present = reader.read(UInt8.self).map(Present.init),
      let flags = reader.read(UInt8.self).map(FreshnessMetadata.Flags.init),
      let origin = reader.read(UInt8.self).flatMap(FreshnessMetadata.Origin.init),
      let status = reader.read(Int32.self),
      let requested = reader.read(Int64.self), let received = reader.read(Int64.self),
      let validated = reader.read(Int64.self), let lifetime = reader.read(Int64.self),
      let initialAge = reader.read(Int64.self), let created = reader.read(Int64.self),
      let whileRevalidate = reader.read(Int64.self), let ifError = reader.read(Int64.self),
      let expires = reader.read(Int64.self), let format = reader.read(Int64.self),
      let fields = reader.readCounted(), let varied = variedFields(&reader)
    else { return nil }
    var metadata = EntryMetadata(
      status: Int(status), storedFields: StoredFields(bytes: Array(fields)), requestedAt: requested,
      receivedAt: received, validatedAt: validated,
      freshness: FreshnessMetadata(
        lifetime: lifetime, initialAge: initialAge, createdAt: present.contains(.createdAt) ? created : nil,
        staleWhileRevalidate: whileRevalidate, staleIfError: ifError, origin: origin, flags: flags),
      variedOn: varied, expiresAt: present.contains(.expiresAt) ? expires : nil,
      valueType: present.contains(.valueType) ? reader.readText() : nil, formatVersion: Int(format))
    metadata.cameCoded = present.contains(.cameCoded)
    if present.contains(.packing), let size = reader.read(Int64.self), let sum = reader.read(UInt64.self) {
      metadata.packing = StoredDigest(size: size, checksum: sum)
    }
    return metadata
  }

  static func write(_ varied: [VariedField], to writer: inout ByteWriter) {
    writer.write(UInt16(truncatingIfNeeded: varied.count))
    for field in varied {
      writer.write(counted: field.name.utf8)
      writer.write(UInt8(field.value == nil ? 0 : 1))
      if let value = field.value { writer.write(counted: value.utf8) }
    }
  }

  static func variedFields(_ reader: inout ByteReader) -> [VariedField]? {
    guard let count = reader.read(UInt16.self) else { return nil }
    var fields: [VariedField] = []
    for _ in 0..<count {
      guard let name = reader.readText(), let hasValue = reader.read(UInt8.self) else { return nil }
      fields.append(VariedField(name: name, value: hasValue == 1 ? reader.readText() : nil))
    }
    return fields
  }
}
