internal import BothyCore
internal import Foundation

/// The part of an entry's metadata that it shares with others of its source: the names of the fields, values that
/// seldom differ, and the server's rules.
///
/// A store has each frame once. Thousands of tiles share one, so a tile's own metadata takes some thirty bytes.
package final class MetadataFrame: Sendable {
  private struct Field: Sendable {
    var name: [UInt8]
    /// The value of all entries, or `nil` if each has its own.
    var value: [UInt8]?
  }

  struct Present: OptionSet, Sendable {
    let rawValue: UInt8
    static let createdAt = Present(rawValue: 1)
    static let expiresAt = Present(rawValue: 2)
    static let valueType = Present(rawValue: 4)
    /// The lifetime follows from times, so that each entry has its own.
    static let lifetime = Present(rawValue: 8)
    /// The server sent the bytes with a content coding. Each entry says whether they are packed here.
    static let cameCoded = Present(rawValue: 16)
  }

  /// The frame as it is stored, closed by its checksum.
  let bytes: [UInt8]
  /// The checksum, which the checksum of each entry's own part covers too.
  let checksum: UInt64
  let present: Present
  /// Metadata whose times and own values are zero.
  private let model: EntryMetadata
  private let fields: [Field]

  private static let version: UInt8 = 1
  private static let longestValue = 256
  /// The fields whose values are mostly equal for all resources of a server.
  private static let shared: Set<String> = [
    "accept-ranges", "access-control-allow-headers", "access-control-allow-methods",
    "access-control-allow-origin", "access-control-expose-headers", "alt-svc", "cache-control",
    "content-disposition", "content-encoding", "content-language", "content-type",
    "cross-origin-resource-policy", "pragma", "referrer-policy", "server", "strict-transport-security",
    "timing-allow-origin", "vary", "via", "x-content-type-options", "x-frame-options",
  ]

  /// Creates the frame of metadata, or `nil` if its fields are damaged.
  init?(of metadata: EntryMetadata) {
    var fields: [Field] = []
    let isWhole = StoredFields.forEach(in: metadata.storedFields.bytes) { name, value in
      let isShared =
        value.count <= Self.longestValue
        && Self.shared.contains(String(decoding: name, as: UTF8.self).lowercased())
      fields.append(Field(name: Array(name), value: isShared ? Array(value) : nil))
    }
    guard isWhole, fields.count <= Int(UInt16.max) else { return nil }
    var present: Present = []
    if metadata.freshness.createdAt != nil { present.insert(.createdAt) }
    if metadata.expiresAt != nil { present.insert(.expiresAt) }
    if metadata.valueType != nil { present.insert(.valueType) }
    if [.expires, .heuristic].contains(metadata.freshness.origin) { present.insert(.lifetime) }
    if metadata.cameCoded { present.insert(.cameCoded) }
    self.fields = fields
    self.present = present
    model = Self.model(metadata, present)
    bytes = Self.encode(model, present, fields)
    checksum = XXH64.hash(bytes)
  }

  /// Decodes a frame, or returns `nil` if the bytes aren't one.
  /// - Parameter checksum: the checksum that was stored beside the bytes.
  init?(_ bytes: UnsafeRawBufferPointer, checksum: UInt64) {
    guard XXH64.hash(bytes) == checksum else { return nil }
    var reader = ByteReader(bytes)
    guard reader.read(UInt8.self) == Self.version, let present = reader.read(UInt8.self).map(Present.init),
      let flags = reader.read(UInt8.self).map(FreshnessMetadata.Flags.init),
      let origin = reader.read(UInt8.self).flatMap(FreshnessMetadata.Origin.init),
      let status = reader.readShort(), let lifetime = reader.readShort(),
      let whileRevalidate = reader.readShort(), let ifError = reader.readShort(),
      let format = reader.readShort(), let varied = MetadataCoding.variedFields(&reader)
    else { return nil }
    let type = present.contains(.valueType) ? reader.readText() : nil
    guard let count = reader.read(UInt16.self) else { return nil }
    var fields: [Field] = []
    for _ in 0..<count {
      guard let name = reader.readCounted(), let isShared = reader.read(UInt8.self) else { return nil }
      var field = Field(name: Array(name))
      if isShared == 1 {
        guard let value = reader.readCounted() else { return nil }
        field.value = Array(value)
      }
      fields.append(field)
    }
    self.bytes = Array(bytes)
    self.checksum = checksum
    self.present = present
    self.fields = fields
    var model = EntryMetadata(
      status: Int(status), storedFields: StoredFields(bytes: []), requestedAt: 0, receivedAt: 0,
      validatedAt: 0,
      freshness: FreshnessMetadata(
        lifetime: lifetime, staleWhileRevalidate: whileRevalidate, staleIfError: ifError, origin: origin,
        flags: flags), variedOn: varied, expiresAt: nil, valueType: type, formatVersion: Int(format))
    model.cameCoded = present.contains(.cameCoded)
    self.model = model
  }

  private static func model(_ metadata: EntryMetadata, _ present: Present) -> EntryMetadata {
    var model = metadata
    model.storedFields = StoredFields(bytes: [])
    (model.requestedAt, model.receivedAt, model.validatedAt) = (0, 0, 0)
    model.freshness.initialAge = 0
    model.freshness.createdAt = nil
    model.expiresAt = nil
    model.packing = nil
    if present.contains(.lifetime) { model.freshness.lifetime = 0 }
    return model
  }

  private static func encode(_ model: EntryMetadata, _ present: Present, _ fields: [Field]) -> [UInt8] {
    var writer = ByteWriter()
    writer.write(version)
    writer.write(present.rawValue)
    writer.write(model.freshness.flags.rawValue)
    writer.write(model.freshness.origin.rawValue)
    for number in [
      Int64(model.status), model.freshness.lifetime, model.freshness.staleWhileRevalidate,
      model.freshness.staleIfError, Int64(model.formatVersion),
    ] { writer.write(short: number) }
    MetadataCoding.write(model.variedOn, to: &writer)
    if let type = model.valueType { writer.write(counted: type.utf8) }
    writer.write(UInt16(truncatingIfNeeded: fields.count))
    for field in fields {
      writer.write(counted: field.name)
      writer.write(UInt8(field.value == nil ? 0 : 1))
      if let value = field.value { writer.write(counted: value) }
    }
    return writer.bytes
  }

  // MARK: an entry's own part

  /// Returns the own values of an entry's fields, in the order of the frame.
  func ownValues(_ metadata: EntryMetadata) -> [UInt8] {
    var writer = ByteWriter()
    var place = 0
    _ = StoredFields.forEach(in: metadata.storedFields.bytes) { _, value in
      if fields[place].value == nil { FieldValueCoding.write(value, metadata.receivedAt, to: &writer) }
      place += 1
    }
    return writer.bytes
  }

  /// Returns the stored form of all fields. Damaged values count as empty.
  func fields(_ values: [UInt8], receivedAt: Int64) -> [UInt8] {
    values.withUnsafeBytes { bytes in
      var reader = ByteReader(bytes)
      var whole: [UInt8] = []
      whole.reserveCapacity(bytes.count + self.bytes.count + 6 * fields.count)
      for field in fields {
        let value = field.value ?? FieldValueCoding.read(&reader, receivedAt) ?? []
        StoredFields.append(field.name, value, to: &whole)
      }
      return whole
    }
  }

  /// Returns metadata with this frame.
  func metadata(
    requestedAt: Int64, receivedAt: Int64, validatedAt: Int64, initialAge: Int64, createdAt: Int64?,
    expiresAt: Int64?, lifetime: Int64?, values: [UInt8]
  ) -> EntryMetadata {
    var metadata = model
    metadata.storedFields = StoredFields(self, values: values, receivedAt: receivedAt)
    metadata.requestedAt = requestedAt
    metadata.receivedAt = receivedAt
    metadata.validatedAt = validatedAt
    metadata.freshness.initialAge = initialAge
    metadata.freshness.createdAt = createdAt
    metadata.expiresAt = expiresAt
    if let lifetime { metadata.freshness.lifetime = lifetime }
    return metadata
  }
}

/// The short form of a field's value: dates as seconds beside the time of receipt, and quoted hexadecimal tags as bytes.
enum FieldValueCoding {
  private enum Kind: Int64 {
    case text
    case date
    case tag
  }

  private static let quote = UInt8(ascii: "\"")

  static func write(_ value: ArraySlice<UInt8>, _ receivedAt: Int64, to writer: inout ByteWriter) {
    if let seconds = date(value) {
      writer.write(short: Kind.date.rawValue)
      writer.write(short: seconds &- receivedAt / 1000)
    } else if let tag = tag(value) {
      writer.write(short: Int64(tag.count) << 2 | Kind.tag.rawValue)
      writer.bytes.append(contentsOf: tag)
    } else {
      writer.write(short: Int64(value.count) << 2 | Kind.text.rawValue)
      writer.bytes.append(contentsOf: value)
    }
  }

  static func read(_ reader: inout ByteReader, _ receivedAt: Int64) -> [UInt8]? {
    guard let head = reader.readShort(), head >= 0, let kind = Kind(rawValue: head & 3) else { return nil }
    if kind == .date {
      guard let seconds = reader.readShort() else { return nil }
      return Array(HTTPDate.text((seconds &+ receivedAt / 1000) &* 1000).utf8)
    }
    guard let length = Int(exactly: head >> 2), let bytes = reader.read(count: length) else { return nil }
    return kind == .text ? Array(bytes) : [quote] + bytes.hexadecimalDigits + [quote]
  }

  /// Returns the seconds of a date that is written exactly as `HTTPDate.text` writes it.
  private static func date(_ value: ArraySlice<UInt8>) -> Int64? {
    guard value.count == 29 else { return nil }
    let text = String(decoding: value, as: UTF8.self)
    guard let time = HTTPDate.milliseconds(text, now: 0), HTTPDate.text(time) == text else { return nil }
    return time / 1000
  }

  /// Returns the bytes of a quoted text of lower-case hexadecimal digits.
  private static func tag(_ value: ArraySlice<UInt8>) -> [UInt8]? {
    guard value.count >= 4, value.count % 2 == 0, value.first == quote, value.last == quote else {
      return nil
    }
    var bytes: [UInt8] = []
    var high: UInt8?
    for byte in value.dropFirst().dropLast() {
      let digit: UInt8
      switch byte {
      case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = byte - UInt8(ascii: "0")
      case UInt8(ascii: "a")...UInt8(ascii: "f"): digit = byte - UInt8(ascii: "a") + 10
      default: return nil
      }
      if let first = high {
        bytes.append(first << 4 | digit)
        high = nil
      } else {
        high = digit
      }
    }
    return bytes
  }
}
