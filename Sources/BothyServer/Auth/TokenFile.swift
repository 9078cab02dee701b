import BothyStore
import BothySyncService
import Crypto

/// The tokens file: the users that may connect, with the SHA-256 digests of their tokens.
///
///     [{"id":"5f1c2a90","sha256":"9f86d0…","principal":"ada","spaces":["home"],"groups":["staff"],"expires":"2027-01-01T00:00:00Z"}]
///
/// The space `*` means all spaces. `groups` and `expires` may be missing. In place of `sha256` an entry may have the
/// `token` itself, and then every reader of the file can use it.
public struct TokenFile: Sendable {
  /// The entries in the order of the file. `create` adds at the end.
  ///
  /// Ended tokens stay until they are revoked.
  public private(set) var entries: [Entry] = []

  /// Creates a file without entries, which admits no caller.
  ///
  /// It is a value in memory. Write `json` to the path of the tokens file to keep it.
  public init() {}

  /// One token, its user and the spaces it opens. It has the digest of the token, from which the token can't
  /// be found.
  public struct Entry: Sendable {
    /// The id for `revoke`: eight hexadecimal digits. They are random, or the first of the digest if the file has no
    /// id.
    public var id: String
    /// The user who owns records written with the token: 1 to 512 bytes in NFC, not beginning with `group:`.
    public var user: String
    /// The names of the spaces that the token opens. `*` opens all, and an empty array opens none.
    public var spaces: [String]
    /// The groups of the user, named without `group:`, with 1 to 500 bytes each.
    public var groups: [String]
    /// The time when the token ends, in milliseconds since 1970, or `nil` for never. It is refused from that
    /// moment on.
    public var expires: Int64?
    var plain: String?
    var digest: SHA256Digest

    /// True if the file has the token itself. `TokenFile.hashPlainTokens()` changes that.
    public var isPlain: Bool { plain != nil }
  }

  /// Parses a file. Throws `JSONError` for text of another shape, and `BothyError` for an invalid entry.
  package init(json: some ContiguousBytesSource) throws {
    entries = try JSONReader.read(json) { reader in
      var entries: [Entry] = []
      try reader.array { entries.append(try Entry(from: &$0)) }
      return entries
    }
  }

  /// The file as JSON, one entry a line, in UTF-8.
  ///
  /// Write it to a file of another name and rename that, so that a server never reads a part of it.
  public var json: [UInt8] {
    var text: [UInt8] = Array("[".utf8)
    for (index, entry) in entries.enumerated() {
      var writer = JSONWriter()
      entry.write(to: &writer)
      text += Array((index == 0 ? "\n " : ",\n ").utf8) + writer.bytes
    }
    return text + Array("\n]\n".utf8)
  }

  /// Adds an entry with a new token of 256 random bits, and returns the token. Only the caller has it.
  ///
  /// The token begins with `bothy_`. It opens nothing before the file is written and read.
  ///
  /// - Parameters:
  ///   - user: the user.
  ///   - spaces: the names of spaces; `*` opens all.
  ///   - groups: the groups of the user, named without `group:`.
  ///   - expires: the end, in milliseconds since 1970, or `nil` for never.
  /// - Returns: the id for `revoke(id:)`, and the token.
  /// - Throws: `BothyError` `.invalidValue` for a user, group or space with an invalid name. No entry is
  ///   added then.
  public mutating func create(
    user: String, spaces: [String], groups: [String] = [], expires: Int64? = nil
  ) throws -> (id: String, token: String) {
    var random = SystemRandomNumberGenerator()
    let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &random) }
    let token = "bothy_" + Base64URL.encode(bytes)
    var id = ""
    repeat {
      id = String(UInt32.random(in: 0x1000_0000...UInt32.max, using: &random), radix: 16)
    } while entries
      .contains { $0.id == id }
    let entry = Entry(
      id: id, user: user, spaces: spaces, groups: groups, expires: expires,
      digest: Self.digest(of: token))
    try entry.check()
    entries.append(entry)
    return (id, token)
  }

  /// Deletes the entry. Returns false if it doesn't exist.
  ///
  /// A running server refuses the token within a second after the file is written, and ends its event
  /// streams.
  public mutating func revoke(id: String) -> Bool {
    let count = entries.count
    entries.removeAll { $0.id == id }
    return entries.count < count
  }

  /// Replaces tokens by their digests. Returns the number of replaced tokens.
  ///
  /// The tokens stay valid, and only their users have them then.
  public mutating func hashPlainTokens() -> Int {
    let count = entries.count { $0.isPlain }
    for index in entries.indices { entries[index].plain = nil }
    return count
  }

  static func digest(of token: some StringProtocol) -> SHA256Digest { SHA256.hash(data: Array(token.utf8)) }
}

extension TokenFile.Entry {
  fileprivate init(from reader: inout JSONReader) throws {
    var members = Members()
    try reader.object { name, reader in
      switch name {
      case "id": members.id = try reader.string()
      case "token": members.token = try reader.string()
      case "sha256": members.sha256 = try reader.string()
      case "principal": members.user = try reader.string()
      case "spaces": try reader.array { members.spaces.append(try $0.string()) }
      case "groups": try reader.array { members.groups.append(try $0.string()) }
      case "expires": members.expires = try reader.nextIsNull() ? nil : reader.string()
      default: throw JSONError(reason: "a token's entry has no member '\(name)'", offset: reader.offset)
      }
    }
    let expires = try members.expires.map { text in
      guard let time = Timestamp(rfc3339: text) else {
        throw BothyError(.invalidValue, "'expires' is a time like 2027-01-01T00:00:00Z, not '\(text)'.")
      }
      return time.milliseconds
    }
    let digest = try Self.digest(members)
    self.init(
      id: members.id ?? String(digest.hexadecimal.prefix(8)), user: members.user,
      spaces: members.spaces, groups: members.groups, expires: expires, plain: members.token, digest: digest)
    try check()
  }

  private struct Members {
    var id: String?
    var token: String?
    var sha256: String?
    var user = ""
    var spaces: [String] = []
    var groups: [String] = []
    var expires: String?
  }

  private static func digest(_ members: Members) throws -> SHA256Digest {
    switch (members.token, members.sha256) {
    case (let token?, nil) where !token.isEmpty: return TokenFile.digest(of: token)
    case (nil, let text?):
      if let digest = TokenFile.digest(hexadecimal: text) { return digest }
      throw BothyError(.invalidValue, "'sha256' is a SHA-256 digest: 64 lower-case hexadecimal digits.")
    default:
      throw BothyError(.invalidValue, "A token's entry has either 'sha256' or 'token', and neither empty.")
    }
  }

  fileprivate func check() throws {
    guard UserName.isValid(user) else {
      throw BothyError(
        .invalidValue,
        "A token's entry needs 'principal', a name of 1 to 512 bytes in Unicode's normal form C (NFC) that "
          + "does not begin with 'group:'.")
    }
    guard groups.allSatisfy(UserName.isValidGroup) else {
      throw BothyError(.invalidValue, "A group of '\(user)' has a name of 1 to 500 bytes in NFC.")
    }
    guard spaces.allSatisfy({ (1...128).contains($0.utf8.count) && $0.isNormalName }) else {
      throw BothyError(
        .invalidValue, "A space of '\(user)' has a name of 1 to 128 bytes in NFC, or is *.")
    }
  }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.beginObject()
    writer.member("id", id)
    if let plain { writer.member("token", plain) } else { writer.member("sha256", digest.hexadecimal) }
    writer.member("principal", user)
    writer.names("spaces", spaces)
    if !groups.isEmpty { writer.names("groups", groups) }
    if let expires { writer.member("expires", Timestamp(milliseconds: expires).rfc3339) }
    writer.endObject()
  }
}

extension TokenFile {
  /// Returns the digest that `text` encodes, or `nil` for other text.
  fileprivate static func digest(hexadecimal text: String) -> SHA256Digest? {
    let digits = Array(text.utf8)
    guard digits.count == 64 else { return nil }
    let bytes = stride(from: 0, to: 64, by: 2).compactMap { index -> UInt8? in
      guard let high = value(digits[index]), let low = value(digits[index + 1]) else { return nil }
      return high << 4 | low
    }
    guard bytes.count == 32 else { return nil }
    return bytes.withUnsafeBytes { $0.baseAddress.map { $0.loadUnaligned(as: SHA256Digest.self) } }
  }

  private static func value(_ digit: UInt8) -> UInt8? {
    switch digit {
    case 0x30...0x39: digit - 0x30
    case 0x61...0x66: digit - 0x61 + 10
    default: nil
    }
  }
}
