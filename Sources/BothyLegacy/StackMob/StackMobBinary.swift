import BothyStore
public import Foundation

/// The value of a binary field in the StackMob SDK, for reading the data of an app with that SDK. It is the address of
/// the bytes if the server has them. Before that it has the bytes themselves as text with headers.
///
/// The SDK distinguished the two by the words `Content-Type` and `base64` anywhere in the text. Here the form is read
/// strictly, so an address or a file name may contain those words.
///
///     Content-Type: image/png
///     Content-Disposition: attachment; filename=cat.png
///     Content-Transfer-Encoding: base64
///
///     iVBORw0KGgo…
public enum StackMobBinary: Sendable, Hashable {
  /// The server has the bytes, at this address.
  ///
  /// An address that was read has the scheme `http` or `https`, and a host. Reading downloads nothing.
  case remote(URL)
  /// The bytes, not on the server yet.
  ///
  /// The value has them decoded in memory, with their media type and file name.
  case raw(RawData)

  /// The bytes of a binary field, and the headers before them. All of it is in memory.
  public struct RawData: Sendable, Hashable {
    /// The media type, such as `image/png`.
    ///
    /// It is the whole header, with parameters if there are any. Reading doesn't check it.
    public var contentType: String
    /// The name of the bytes' file, without quotation marks.
    ///
    /// It may be empty after reading, and `text()` then throws. Don't use it as a path without a check.
    public var fileName: String
    /// The bytes, decoded. Empty if the text has no body.
    public var data: Data

    /// Makes a value without a check. `text()` checks that type and name fit in a header.
    public init(contentType: String, fileName: String, data: Data) {
      self.contentType = contentType
      self.fileName = fileName
      self.data = data
    }
  }

  /// Reads an attribute's text, and returns `nil` for `nil`.
  ///
  /// Text with an address makes `remote`, and all other text is parsed as raw data. Decoding holds the text
  /// and the bytes in memory, and makes no request.
  ///
  /// - Throws: `BothyError` `.invalidValue`, with the problem, for text that is neither an `http` or `https`
  ///   address nor raw data. An empty text throws too.
  public init?(_ text: String?) throws {
    guard let text else { return nil }
    if let url = Self.url(text) { self = .remote(url) } else { self = .raw(try RawData(parsing: text)) }
  }

  /// Returns true if the text is an address, like the SDK's `stringContainsURL:`.
  ///
  /// Returns false for `nil`, raw data and other text, and for addresses with another scheme than `http` or
  /// `https`. Decodes nothing, and makes no request.
  public static func containsURL(_ text: String?) -> Bool { text.flatMap(url) != nil }

  /// Returns the bytes in raw-data text, like the SDK's `dataForString:`.
  ///
  /// Decodes on the calling thread, with the text and the bytes in memory. Bytes that the server has aren't
  /// downloaded.
  ///
  /// - Throws: `BothyError` `.invalidValue`, with the problem, for an address and for any other text.
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
  /// Returns the text that the SDK makes of the bytes.
  ///
  /// The base64 has no line breaks and is a third longer than the bytes. `init(parsing:)` reads the bytes
  /// back unchanged.
  ///
  /// - Throws: `BothyError` `.invalidValue` if the type or the name is empty or has a control character, such
  ///   as a line break. A header can't contain these.
  public func text() throws -> String {
    for value in [contentType, fileName] {
      guard !value.isEmpty, !value.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
        throw Self.malformed("its type and its file name must be one line each and not empty")
      }
    }
    return "Content-Type: \(contentType)\nContent-Disposition: attachment; filename=\(fileName)\n"
      + "Content-Transfer-Encoding: base64\n\n" + data.base64EncodedString()
  }

  /// Reads the three headers, each once and in any order, a blank line and base64 (RFC 4648, with padding).
  ///
  /// Line breaks are skipped, in both forms. The names of the headers and the word `base64` may be in upper
  /// or lower case. Quotation marks around the file name are removed. Other headers than the three are an
  /// error.
  ///
  /// - Throws: `BothyError` `.invalidValue`, with the problem.
  public init(parsing text: String) throws {
    let lines = text.split(omittingEmptySubsequences: false) { $0 == "\n" || $0 == "\r\n" }
    guard let blank = lines.firstIndex(where: \.isEmpty) else {
      throw Self.malformed("it has no blank line after the headers")
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

  private static func malformed(_ reason: String) -> BothyError {
    BothyError(.invalidValue, "The text is not raw data of a binary field: \(reason).")
  }
}
