import BothyCore
import BothySyncService
import Crypto

/// A user of whose spaces the back end is asked: its name, its groups and some claims of its token.
struct SpaceQuestion: Sendable, Equatable {
  /// The JSON of the request, `{"principal","groups"?,"claims"?}`. Equal users have equal bytes.
  let text: [UInt8]
  /// The digest of the text. It is small, whatever the claims are.
  let key: SHA256Digest

  /// - Parameter claims: those that the operator lets through, as far as the token has them.
  init(_ user: Caller, claims: [String: JSONValue]) {
    var writer = JSONWriter(reserving: 256)
    writer.object { writer in
      writer.member("principal", user.name)
      if !user.groups.isEmpty { writer.names("groups", user.groups.sorted()) }
      guard !claims.isEmpty else { return }
      writer.key("claims")
      JSONValue.write(claims, to: &writer)
    }
    text = writer.bytes
    key = SHA256.hash(data: text)
  }
}

/// The right of a user in a space.
enum SpaceRight: String, Sendable {
  /// Reading alone. Each change is rejected, whatever the permissions say.
  case read
  /// Reading and writing, as far as the permissions allow it.
  case write
}

/// Reads the answer of a back end, strictly: an answer with anything else than spaces and rights is useless.
enum SpaceAnswer {
  /// The most bytes of an answer.
  static let size = 256 << 10
  /// The most spaces of one user.
  static let spaces = 1000

  /// Returns the spaces with their rights, from `{"spaces":[{"space","rights"}]}`. Throws `CalloutOutage`.
  static func rights(_ body: [UInt8]) throws(CalloutOutage) -> [String: SpaceRight] {
    let entries = try CalloutOutage.reading { try read(body) }
    guard entries.count <= spaces else { throw .answer("it has more than \(spaces) spaces") }
    var rights: [String: SpaceRight] = [:]
    for entry in entries {
      // All spaces at once are what tokens of the tokens file may open, and no answer.
      guard (1...FixedLimits.spaceName).contains(entry.space.utf8.count), entry.space.isNormalName,
        entry.space != "*"
      else { throw .answer("it has a name that no space can have") }
      guard let right = SpaceRight(rawValue: entry.rights) else {
        throw .answer("it has a right other than read and write")
      }
      guard rights.updateValue(right, forKey: entry.space) == nil else {
        throw .answer("it names a space twice")
      }
    }
    return rights
  }

  private static func read(_ body: [UInt8]) throws -> [(space: String, rights: String)] {
    var entries: [(space: String, rights: String)]?
    try JSONReader.read(body) { reader in
      try reader.object { name, reader in
        guard name == "spaces", entries == nil else { throw unknown(reader) }
        var list: [(space: String, rights: String)] = []
        try reader.array { list.append(try entry(&$0)) }
        entries = list
      }
    }
    guard let entries else { throw JSONError(reason: "'spaces' is missing", offset: body.count) }
    return entries
  }

  private static func entry(_ reader: inout JSONReader) throws -> (space: String, rights: String) {
    var (space, rights): (String?, String?)
    try reader.object { name, reader in
      switch name {
      case "space" where space == nil: space = try reader.string()
      case "rights" where rights == nil: rights = try reader.string()
      default: throw unknown(reader)
      }
    }
    guard let space, let rights else {
      throw JSONError(reason: "'space' or 'rights' is missing", offset: reader.offset)
    }
    return (space, rights)
  }

  private static func unknown(_ reader: JSONReader) -> JSONError {
    JSONError(reason: "there is an unknown member, or one twice", offset: reader.offset)
  }
}
