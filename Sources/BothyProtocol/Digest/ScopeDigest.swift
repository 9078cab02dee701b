/// Proof of equality: the number of live records of a scope and the sum of their hashes.
public struct ScopeDigest: Sendable, Hashable {
  /// What was added up.
  public var scope: PullScope
  /// The live records in it.
  public var count: Int
  /// 16 hexadecimal digits: the sum modulo 2^64 over all live records of the first eight bytes, big-endian,
  /// of SHA-256 over `type`, a zero byte, `id`, a zero byte and the canonical fields.
  public var digest: String
  /// The server's position when it was computed; nil on a device.
  public var position: Int64?
  /// The same of each part of the scope; empty unless asked for.
  public var parts: [Part]

  /// The records of a scope whose ids fall into one of so many parts.
  public struct Part: Sendable, Hashable {
    /// The live records in the part.
    public var count: Int
    /// Made as that of the scope, of these records alone.
    public var digest: String

    /// What `DigestSum` makes, and remotes of an answer.
    public init(count: Int, digest: String) {
      self.count = count
      self.digest = digest
    }
  }

  /// What `DigestSum` makes, and remotes of an answer.
  public init(scope: PullScope, count: Int, digest: String, position: Int64? = nil, parts: [Part] = []) {
    self.scope = scope
    self.count = count
    self.digest = digest
    self.position = position
    self.parts = parts
  }
}
