/// A proof of equality: the number of live records of a scope and the sum of their hashes.
package struct ScopeDigest: Sendable, Hashable {
  /// The scope whose records were added up.
  package var scope: SyncScope
  /// The number of live records in it.
  package var count: Int
  /// The sum of the records' hashes modulo 2^64, in 16 hexadecimal digits. The hash of a live record is the first eight
  /// bytes, big-endian, of SHA-256 over `type`, a zero byte, `id`, a zero byte and the canonical fields.
  package var digest: String
  /// The server's position when it computed the digest; `nil` on a device.
  package var position: Int64?
  /// The digests of the parts of the scope, empty unless requested.
  package var parts: [Part]

  /// The digest of the records of a scope whose ids belong to one part.
  package struct Part: Sendable, Hashable {
    /// The number of live records in the part.
    package var count: Int
    /// The digest, computed like that of the scope, of these records alone.
    package var digest: String

    /// Makes a part, for the answer of a remote.
    package init(count: Int, digest: String) {
      self.count = count
      self.digest = digest
    }
  }

  /// Makes a digest, for the answer of a remote.
  package init(scope: SyncScope, count: Int, digest: String, position: Int64? = nil, parts: [Part] = []) {
    self.scope = scope
    self.count = count
    self.digest = digest
    self.position = position
    self.parts = parts
  }
}
