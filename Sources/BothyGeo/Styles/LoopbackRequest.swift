import HTTPTypes

/// A request of a renderer on this machine, read strictly.
struct LoopbackRequest: Sendable, Hashable {
  /// True for HEAD, false for GET.
  var isHead: Bool
  /// The path with its query.
  var target: String
  /// The host that the request names, with its port, in lower case.
  var host: String
  /// The entity tags that the caller has, or `nil`.
  var condition: String?
  /// True if the connection ends with the answer.
  var ends: Bool
  /// The port that it came to.
  var port: UInt16

  /// A head that isn't answered.
  struct Refusal: Error {
    var status: HTTPResponse.Status
  }

  /// The longest head in bytes.
  static let longestHead = 16 << 10

  /// Reads a head without its last empty line.
  init(_ head: [UInt8], port: UInt16) throws(Refusal) {
    // Bytes beyond ASCII and bare line ends are in no request of a renderer.
    guard head.allSatisfy({ $0 < 128 && ($0 >= 32 || $0 == 9 || $0 == 13 || $0 == 10) }) else {
      throw Refusal(status: .badRequest)
    }
    var lines = String(decoding: head, as: UTF8.self).split(
      separator: "\r\n", omittingEmptySubsequences: false)[...]
    guard let first = lines.popFirst(), !lines.contains(where: { $0.contains { $0 == "\n" || $0 == "\r" } })
    else {
      throw Refusal(status: .badRequest)
    }
    let words = first.split(separator: " ", omittingEmptySubsequences: false)
    guard words.count == 3 else { throw Refusal(status: .badRequest) }
    guard words[2] == "HTTP/1.1" else { throw Refusal(status: .httpVersionNotSupported) }
    guard words[0] == "GET" || words[0] == "HEAD" else { throw Refusal(status: .methodNotAllowed) }
    guard words[1].hasPrefix("/") else { throw Refusal(status: .badRequest) }
    (isHead, target, self.port) = (words[0] == "HEAD", String(words[1]), port)
    var fields: [String: String] = [:]
    for line in lines {
      guard let colon = line.firstIndex(of: ":"), HTTPField.Name(String(line[..<colon])) != nil else {
        throw Refusal(status: .badRequest)
      }
      let name = line[..<colon].lowercased()
      let value = line[line.index(after: colon)...].trimmingPrefix { $0 == " " || $0 == "\t" }
      // Two hosts are how one reader is made to see another request than the next.
      if name == "host", fields[name] != nil { throw Refusal(status: .badRequest) }
      fields[name] = String(value)
    }
    guard let host = fields["host"] else { throw Refusal(status: .badRequest) }
    guard fields["transfer-encoding"] == nil, fields["content-length"].map({ $0 == "0" }) ?? true else {
      throw Refusal(status: .contentTooLarge)
    }
    self.host = host.lowercased()
    condition = fields["if-none-match"]
    ends = fields["connection"]?.lowercased().contains("close") ?? false
  }
}
