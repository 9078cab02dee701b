public import Foundation
package import HTTPTypes

/// The expected content of a source, so that the sign-in page of a hotel's network isn't stored as a map.
///
/// ```swift
/// let pdf = ContentExpectation(mediaTypes: ["application/pdf"], beginnings: [Data("%PDF".utf8)], allowsEmpty: false)
/// let forms = try ResourceSource(
///   "forms", template: "https://huts.example.org/forms", userAgent: "Hut/1.0", content: pdf)
/// ```
///
/// Other content fails with `BothyError` `.unexpectedContent`, or the read returns the stored copy.
public struct ContentExpectation: Sendable, Hashable {
  /// Media types in lower case and without parameters. `image/*` covers all images. An empty list accepts any type.
  package var mediaTypes: [String]
  /// The accepted beginnings of the bytes. An empty list accepts any beginning.
  package var beginnings: [Data]
  /// True if an empty body is accepted.
  package var allowsEmpty: Bool

  /// Creates an expectation, which accepts anything by default. Without `Content-Type` only the bytes are checked.
  ///
  /// - Parameters:
  ///   - mediaTypes: media types without parameters, in any case. `image/*` covers all images. An empty list accepts
  ///     any type.
  ///   - beginnings: the accepted beginnings of the bytes. White space and a byte order mark before them are skipped.
  ///     An empty list accepts any beginning.
  ///   - allowsEmpty: true if an empty body is accepted.
  public init(mediaTypes: [String] = [], beginnings: [Data] = [], allowsEmpty: Bool = true) {
    self.mediaTypes = mediaTypes.map { $0.lowercased() }
    self.beginnings = beginnings
    self.allowsEmpty = allowsEmpty
  }

  /// PNG, JPEG, GIF or WebP.
  ///
  /// The media type may be any of images or `application/octet-stream`. Other formats, such as AVIF or SVG, need an
  /// expectation of their own. An empty body is refused.
  public static let image = ContentExpectation(
    mediaTypes: ["image/*", "application/octet-stream"],
    beginnings: [
      Data([0x89, 0x50, 0x4E, 0x47]), Data([0xFF, 0xD8, 0xFF]), Data("GIF8".utf8), Data("RIFF".utf8),
    ], allowsEmpty: false)

  /// JSON of any kind, even if the server calls it plain text.
  ///
  /// The content must begin with an object or an array; the rest is not parsed. An empty body is refused.
  public static let json = ContentExpectation(
    mediaTypes: ["application/json", "application/*", "text/json", "text/plain"],
    beginnings: [Data("{".utf8), Data("[".utf8)], allowsEmpty: false)

  /// Returns the difference between a response and the expectation, or `nil` if it fits.
  ///
  /// - Parameter body: the bytes, or enough of them to decide. White space before the beginning is ignored.
  package func mismatch(fields: HTTPFields, body: Data) -> ContentMismatch? {
    if body.isEmpty { return allowsEmpty ? nil : .empty }
    if !mediaTypes.isEmpty, let said = fields[.contentType] {
      let parts = said.split(separator: ";", maxSplits: 1, omittingEmptySubsequences: false)
      let type = ListReader.trimmed(parts[0]).lowercased()
      let fits = mediaTypes.contains { $0 == type || ($0.hasSuffix("/*") && type.hasPrefix($0.dropLast())) }
      if !fits { return .mediaType(type) }
    }
    if !beginnings.isEmpty {
      let start = Self.start(of: body)
      if !beginnings.contains(where: { body[start...].starts(with: $0) }) { return .bytes }
    }
    return nil
  }

  /// Returns the start of the content, after a byte order mark and white space.
  private static func start(of body: Data) -> Data.Index {
    var start = body.afterByteOrderMark().startIndex
    while start < body.endIndex, [0x20, 0x09, 0x0A, 0x0D].contains(body[start]) { start += 1 }
    return start
  }
}

/// The difference between a response and the content of its source.
package enum ContentMismatch: Error, Sendable, Hashable {
  /// The body is empty, but bytes are expected. Another request may succeed.
  case empty
  /// The response has another media type, in lower case and without parameters.
  case mediaType(String)
  /// The bytes do not belong to the source, whatever their media type is.
  case bytes
  /// A picture of another format or size than the stored one. The text describes it, such as `png 300x80`.
  case otherPicture(String)
  /// A redirect over plain HTTP led to another host, which is given, as in networks that require a sign-in.
  ///
  /// A response to a resource that isn't stored may come from there.
  case otherHost(String)
  /// The connection was closed before the end of the content. Another request may succeed.
  case cut
  /// The server says that the resource is gone, but the stored entry is pinned. It stays until it is unpinned or
  /// removed.
  case gone
}
