/// A large binary value, named by its content: the record holds this description, the bytes live elsewhere.
public struct Blob: Sendable, Hashable, Codable {
  /// SHA-256 of the bytes (FIPS 180-4), 64 lower-case hexadecimal digits.
  public var sha256: String
  /// The number of bytes.
  public var size: Int
  /// The media type (RFC 2046), if known.
  public var contentType: String?

  public init(sha256: String, size: Int, contentType: String? = nil) {
    self.sha256 = sha256
    self.size = size
    self.contentType = contentType
  }
}
