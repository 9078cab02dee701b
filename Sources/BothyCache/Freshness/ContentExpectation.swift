public import Foundation
package import HTTPTypes

/// What the bytes of a source look like, so that the sign-in page of a hotel's network is not taken for a map.
public struct ContentExpectation: Sendable, Hashable {
  /// Media types, in lower case and without parameters; `image/*` stands for all of a kind. Empty: any.
  public var mediaTypes: [String]
  /// Beginnings of which the bytes must have one. Empty: any.
  public var beginnings: [Data]
  /// Whether a body without a byte is an answer.
  public var allowsEmpty: Bool

  /// Expects nothing unless told otherwise. An answer without `Content-Type` is judged by its bytes alone.
  public init(mediaTypes: [String] = [], beginnings: [Data] = [], allowsEmpty: Bool = true) {
    self.mediaTypes = mediaTypes.map { $0.lowercased() }
    self.beginnings = beginnings
    self.allowsEmpty = allowsEmpty
  }

  /// PNG, JPEG, GIF or WebP.
  public static let image = ContentExpectation(
    mediaTypes: ["image/*", "application/octet-stream"],
    beginnings: [
      Data([0x89, 0x50, 0x4E, 0x47]), Data([0xFF, 0xD8, 0xFF]), Data("GIF8".utf8), Data("RIFF".utf8),
    ], allowsEmpty: false)

  /// JSON of any kind, also where the server calls it plain text.
  public static let json = ContentExpectation(
    mediaTypes: ["application/json", "application/*", "text/json", "text/plain"],
    beginnings: [Data("{".utf8), Data("[".utf8)], allowsEmpty: false)

  /// Why an answer is not what was expected; nil when it is.
  ///
  /// - Parameter body: the bytes, or so many of them as tell. White space before the beginning is passed over.
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

  /// Where the content begins: after a byte order mark and white space.
  private static func start(of body: Data) -> Data.Index {
    var start = body.startIndex
    if body.starts(with: [0xEF, 0xBB, 0xBF]) { start += 3 }
    while start < body.endIndex, [0x20, 0x09, 0x0A, 0x0D].contains(body[start]) { start += 1 }
    return start
  }
}

/// How an answer differs from what its source brings.
public enum ContentMismatch: Sendable, Hashable {
  /// There are no bytes where some are expected; asking again may help.
  case empty
  /// The answer calls itself something else: the media type in lower case, without parameters.
  case mediaType(String)
  /// The bytes are none of the source's.
  case bytes
  /// A picture of another format or size than the stored one: what came, such as `png 300x80`.
  case otherPicture(String)
  /// A redirect over plain HTTP led to another host, as networks do that want a sign-in: which one.
  case otherHost(String)
  /// The connection was closed before the content came to its end; asking again may help.
  case cut
  /// The server says that there is nothing any more, and somebody wants what is stored kept.
  case gone
}
