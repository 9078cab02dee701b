public import BothyStore
import BothySyncService
import Crypto

/// Who enters with which token, and which spaces are open to them.
///
/// Only SHA-256 digests of the tokens are kept, and only digests are compared, in constant time: neither a dump
/// of the process nor the time of an answer tells anything about a token. A token is to be long and random, as
/// `TokenFile.create` makes it: nothing slows down who tries out short ones against a stolen file.
public struct TokenTable: Sendable {
  private var grants: [SHA256Digest: Grant] = [:]
  /// How many entries have their tokens in clear.
  public let plainTokens: Int

  /// Reads a tokens file; see `TokenFile`. Throws `JSONError` for text of another shape, `StoreError` for an entry that
  /// cannot be and for a token that is there twice.
  public init(json: some ContiguousBytesSource) throws { try self.init(TokenFile(json: json)) }

  init(_ file: TokenFile) throws {
    plainTokens = file.entries.count { $0.isPlain }
    for entry in file.entries {
      let principal = Principal(entry.principal, groups: Set(entry.groups))
      let grant = Grant(principal: principal, spaces: Set(entry.spaces), end: entry.expires)
      guard grants.updateValue(grant, forKey: entry.digest) == nil else {
        throw StoreError(
          .invalidValue, "Two entries have the same token; the second is of '\(entry.principal)'.")
      }
    }
  }

  func grant(for token: some StringProtocol, at now: Int64) throws(TokenRefusal) -> Grant {
    guard let grant = grants[TokenFile.digest(of: token)] else { throw .unknown }
    if let end = grant.end, now >= end { throw .expired }
    return grant
  }
}
