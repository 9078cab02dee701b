import BothyStore
import BothySyncService
import Crypto

public import struct Foundation.Data

/// The known tokens, with their users and the spaces they open.
///
/// The table has only SHA-256 digests of the tokens and compares only digests, in constant time. Neither a dump of the
/// process nor the time of a response reveals anything about a token.
///
/// Tokens have to be long and random, as `TokenFile.create` makes them. Nothing slows down guesses of short tokens
/// against a stolen file.
public struct TokenTable: Sendable {
  private var grants: [SHA256Digest: Grant] = [:]
  /// The number of entries that hold their tokens in clear text. Every reader of the file can use these.
  public let plainTokens: Int

  /// Parses a tokens file (see `TokenFile`). The whole table is in memory.
  ///
  /// Ended tokens are part of it, and are refused when they are used. An empty array admits no caller.
  ///
  /// - Throws: `JSONError` for text of another shape, and `BothyError` `.invalidValue` for an invalid entry
  ///   or a repeated token.
  public init(json: Data) throws { try self.init(TokenFile(json: json)) }

  /// Like `init(json:)` of `Data`, but for any bytes.
  package init(json: some ContiguousBytesSource) throws { try self.init(TokenFile(json: json)) }

  init(_ file: TokenFile) throws {
    plainTokens = file.entries.count { $0.isPlain }
    for entry in file.entries {
      let user = Caller(entry.user, groups: Set(entry.groups))
      let grant = Grant(user: user, spaces: Set(entry.spaces), end: entry.expires)
      guard grants.updateValue(grant, forKey: entry.digest) == nil else {
        throw BothyError(
          .invalidValue, "Two entries have the same token; the second is of '\(entry.user)'.")
      }
    }
  }

  func grant(for token: some StringProtocol, at now: Int64) throws(TokenRefusal) -> Grant {
    guard let grant = grants[TokenFile.digest(of: token)] else { throw .unknown }
    if let end = grant.end, now >= end { throw .expired }
    return grant
  }
}
