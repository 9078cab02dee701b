/// The description of a large binary value, named by its content. The record holds this description, and the bytes are
/// stored elsewhere.
///
/// `BlobStorage.add` makes it from the bytes. A blob never changes: to replace a photo, add the new bytes and save the
/// record with the new blob.
///
/// ```swift
/// let image = try await store.blobs.add(jpeg, contentType: "image/jpeg")
/// try await store.save(Photo(caption: "Finse", image: image))
/// show("\(image.size) bytes")
/// ```
public struct Blob: Sendable, Hashable, Codable {
  /// SHA-256 of the bytes (FIPS 180-4), 64 lower-case hexadecimal digits. Equal bytes have equal names, and are stored
  /// once.
  public var sha256: String
  /// The number of bytes. As `BlobStorage.add` counted them, or as the device that made the description states it.
  public var size: Int
  /// The media type (RFC 2046), such as `image/jpeg`. Nil if unknown. It is stored as given and not checked against the
  /// bytes.
  public var contentType: String?

  /// Describes bytes that are stored elsewhere. Reads nothing, and doesn't check the digest.
  package init(sha256: String, size: Int, contentType: String? = nil) {
    self.sha256 = sha256
    self.size = size
    self.contentType = contentType
  }
}

extension Blob {
  /// Creates the blob that a field's JSON describes. Nil for anything else.
  package init?(_ json: JSONValue) {
    guard let sha256 = json["sha256"]?.stringValue, Self.isName(sha256) else { return nil }
    self.init(
      sha256: sha256, size: Int(clamping: min(max(0, json["size"]?.intValue ?? 0), Self.largestSize)),
      contentType: json["contentType"]?.stringValue)
  }

  /// The greatest size that a description may have: 2^40, a tebibyte. A record from another user may have any number,
  /// and sizes of many blobs are added.
  package static let largestSize: Int64 = 1 << 40

  /// True if a text can be an SHA-256 digest. Such a name is also a safe file name.
  package static func isName(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}

extension FieldValue {
  /// Creates a field value from a blob, for records without a Swift type.
  package init(_ blob: Blob) {
    var members: [String: JSONValue] = ["sha256": .string(blob.sha256), "size": .int(Int64(blob.size))]
    members["contentType"] = blob.contentType.map { .string($0) }
    self = .json(JSONValue.object(members).canonicalText)
  }

  /// The blob that the value names, or nil.
  package var blob: Blob? {
    // Text that isn't JSON names no blob.
    guard case .json(let text) = self, let json = try? JSONValue(parsing: text) else { return nil }
    return Blob(json)
  }
}
