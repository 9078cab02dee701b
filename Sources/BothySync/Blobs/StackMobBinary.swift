import BothyStore
public import Foundation

/// What an attribute of the StackMob SDK holds for a binary field: the address of the bytes once the server has them, and
/// before that the bytes themselves as text with headers. For reading what an app of that SDK has stored.
///
/// The SDK told the two apart by looking for the words `Content-Type` and `base64` anywhere; here the form is read strictly, so
/// an address or a file name may hold those words (S-76 and S-77 in docs/promises.md).
///
///     Content-Type: image/png
///     Content-Disposition: attachment; filename=cat.png
///     Content-Transfer-Encoding: base64
///
///     iVBORw0KGgo…
public enum StackMobBinary: Sendable, Hashable {
  /// The server has the bytes, at this address.
  case remote(URL)
  /// The bytes, not on the server yet.
  case raw(RawData)

  /// The bytes of a binary field, and what the headers before them say.
  public struct RawData: Sendable, Hashable {
    /// The media type, `image/png` say.
    public var contentType: String
    /// The name of the file that the bytes were in, without quotation marks.
    public var fileName: String
    /// The bytes, decoded.
    public var data: Data

    /// Checks nothing: `text()` says whether type and name can stand in a header.
    public init(contentType: String, fileName: String, data: Data) {
      self.contentType = contentType
      self.fileName = fileName
      self.data = data
    }
  }

  /// Reads an attribute's text; nil for none. Throws `StoreError` `.invalidValue` for text that is neither an `http` or
  /// `https` address nor raw data, naming what is wrong.
  public init?(_ text: String?) throws {
    guard let text else { return nil }
    if let url = Self.url(text) { self = .remote(url) } else { self = .raw(try RawData(parsing: text)) }
  }

  /// Whether the text is an address: the SDK's `stringContainsURL:`. False for nil, raw data and anything else.
  public static func containsURL(_ text: String?) -> Bool { text.flatMap(url) != nil }

  /// The bytes in raw-data text: the SDK's `dataForString:`. Throws as `init` does, for an address too.
  public static func data(for text: String) throws -> Data { try RawData(parsing: text).data }

  private static func url(_ text: String) -> URL? {
    guard let url = URL(string: text, encodingInvalidCharacters: false),
      let scheme = url.scheme?.lowercased(),
      ["http", "https"].contains(scheme), let host = url.host(), !host.isEmpty
    else { return nil }
    return url
  }
}

extension StackMobBinary.RawData {
  /// The text that the SDK makes of the bytes. Throws `StoreError` `.invalidValue` when the type or the name cannot stand in
  /// a header: a line break, or an empty text.
  public func text() throws -> String {
    for value in [contentType, fileName] {
      guard !value.isEmpty, !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw Self.malformed("its type and its file name must be one line each and not empty")
      }
    }
    return "Content-Type: \(contentType)\nContent-Disposition: attachment; filename=\(fileName)\n"
      + "Content-Transfer-Encoding: base64\n\n" + data.base64EncodedString()
  }

  /// Reads the three headers, each once and in any order, a blank line and base64 (RFC 4648, with padding; line breaks are
  /// passed over). Throws `StoreError` `.invalidValue`.
  public init(parsing text: String) throws {
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    guard let blank = lines.firstIndex(where: \.isEmpty) else {
      throw Self.malformed("there is no blank line after the headers")
    }
    var headers: [String: Substring] = [:]
    for line in lines[..<blank] {
      guard let colon = line.firstIndex(of: ":") else {
        throw Self.malformed("'\(line.prefix(40))' is no header")
      }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].drop { $0 == " " || $0 == "\t" }
      guard headers.updateValue(value, forKey: name) == nil else {
        throw Self.malformed("the header \(name) is there twice")
      }
    }
    let expected: Set = ["content-type", "content-disposition", "content-transfer-encoding"]
    guard Set(headers.keys) == expected else {
      throw Self.malformed("its headers are not \(expected.sorted().joined(separator: ", "))")
    }
    guard headers["content-transfer-encoding"]?.lowercased() == "base64" else {
      throw Self.malformed("its transfer encoding is not base64")
    }
    let body = lines[(blank + 1)...].joined()
    guard let data = Data(base64Encoded: body) else { throw Self.malformed("its body is not base64") }
    let fileName = try Self.fileName(headers["content-disposition"] ?? "")
    self.init(contentType: String(headers["content-type"] ?? ""), fileName: fileName, data: data)
  }

  private static func fileName(_ disposition: Substring) throws -> String {
    let mark = "filename="
    guard disposition.lowercased().hasPrefix("attachment"), let start = disposition.range(of: mark) else {
      throw malformed("its disposition is not attachment with a file name")
    }
    let name = disposition[start.upperBound...]
    guard name.count > 1, name.hasPrefix("\""), name.hasSuffix("\"") else { return String(name) }
    return String(name.dropFirst().dropLast())
  }

  private static func malformed(_ reason: String) -> StoreError {
    StoreError(.invalidValue, "The text is not raw data of a binary field: \(reason).")
  }
}
