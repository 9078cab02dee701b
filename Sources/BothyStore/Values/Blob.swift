/// A large binary value, named by its content: the record holds this description, the bytes live elsewhere.
public struct Blob: Sendable, Hashable, Codable {
  /// SHA-256 of the bytes (FIPS 180-4), 64 lower-case hexadecimal digits.
  public var sha256: String
  /// The number of bytes.
  public var size: Int
  /// The media type (RFC 2046), if known.
  public var contentType: String?

  /// Describes bytes that are elsewhere. Nothing is read, and the digest is not checked.
  public init(sha256: String, size: Int, contentType: String? = nil) {
    self.sha256 = sha256
    self.size = size
    self.contentType = contentType
  }
}

extension Blob {
  /// The blob that a field's JSON describes; nil for anything else.
  package init?(_ json: JSONValue) {
    guard let sha256 = json["sha256"]?.stringValue, Self.isName(sha256) else { return nil }
    self.init(
      sha256: sha256, size: Int(clamping: min(max(0, json["size"]?.intValue ?? 0), Self.largestSize)),
      contentType: json["contentType"]?.stringValue)
  }

  /// The most bytes that a description is believed: 2^40, a tebibyte. A record of somebody else may say any number, and
  /// sizes of many blobs are added up.
  package static let largestSize: Int64 = 1 << 40

  /// Whether a text can be the SHA-256 of something; such a name is a safe file name, too.
  package static func isName(_ text: some StringProtocol) -> Bool {
    text.utf8.count == 64 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
  }
}

extension FieldValue {
  /// A blob as the value of a field, for records without a Swift type.
  public init(_ blob: Blob) {
    var members: [String: JSONValue] = ["sha256": .string(blob.sha256), "size": .int(Int64(blob.size))]
    members["contentType"] = blob.contentType.map { .string($0) }
    self = .json(JSONValue.object(members).canonicalText)
  }

  /// The blob that the value names; nil when it names none.
  public var blob: Blob? {
    // Text that is no JSON names no blob.
    guard case .json(let text) = self, let json = try? JSONValue(parsing: text) else { return nil }
    return Blob(json)
  }
}
