public import BothyStore
import BothySync
import Crypto

/// Who enters with which token, and which spaces are open to them.
///
/// Only SHA-256 digests of the tokens are kept, and only digests are compared, in constant time: neither a dump
/// of the process nor the time of an answer tells anything about a token.
public struct TokenTable: Sendable {
  private var grants: [SHA256Digest: Grant] = [:]

  struct Grant: Sendable {
    var principal: Principal
    var spaces: Set<String>

    func admits(to space: String) -> Bool { spaces.contains("*") || spaces.contains(space) }
  }

  /// Reads `[{"token","principal","spaces":[…]}]`; the space `*` stands for all.
  ///
  /// Throws `JSONError` for text of another shape, `StoreError` for an empty token or name and for a token that
  /// is there twice.
  public init(json: some ContiguousBytesSource) throws {
    let entries = try JSONReader.read(json) { reader in
      var entries: [Entry] = []
      try reader.array { entries.append(try Entry(from: &$0)) }
      return entries
    }
    for entry in entries {
      guard !entry.token.isEmpty, !entry.principal.isEmpty else {
        throw StoreError(.invalidValue, "A token's entry needs 'token' and 'principal', neither empty.")
      }
      let grant = Grant(principal: Principal(entry.principal), spaces: Set(entry.spaces))
      guard grants.updateValue(grant, forKey: Self.digest(entry.token)) == nil else {
        throw StoreError(
          .invalidValue, "Two entries have the same token; the second is of '\(entry.principal)'.")
      }
    }
  }

  func grant(for token: some StringProtocol) -> Grant? { grants[Self.digest(token)] }

  private static func digest(_ token: some StringProtocol) -> SHA256Digest {
    SHA256.hash(data: Array(token.utf8))
  }

  private struct Entry {
    var token = ""
    var principal = ""
    var spaces: [String] = []

    init(from reader: inout JSONReader) throws {
      var entry = (token: "", principal: "", spaces: [String]())
      try reader.object { name, reader in
        switch name {
        case "token": entry.token = try reader.string()
        case "principal": entry.principal = try reader.string()
        case "spaces": try reader.array { entry.spaces.append(try $0.string()) }
        default: throw JSONError(reason: "a token's entry has no member '\(name)'", offset: reader.offset)
        }
      }
      (token, principal, spaces) = entry
    }
  }
}
