import BothyStore
import Crypto

/// Adds up the hashes of records, in any order, for a `ScopeDigest`, and optionally those of each part.
package struct DigestSum: Sendable {
  /// The number of added records.
  package private(set) var count = 0
  private var sum: UInt64 = 0
  private var parts: [(count: Int, sum: UInt64)]

  /// - Parameter parts: the number of parts that records are divided into; 0 adds up the whole alone.
  package init(parts: Int = 0) { self.parts = Array(repeating: (0, 0), count: parts) }

  /// Adds a live record. `fields` are the bytes of its canonical document.
  package mutating func add(_ id: RecordID, fields: [UInt8]) {
    let hash = Self.hash(id, fields: fields)
    sum &+= hash
    count += 1
    guard !parts.isEmpty else { return }
    let part = id.part(of: parts.count)
    parts[part].count += 1
    parts[part].sum &+= hash
  }

  /// Returns the first eight bytes, big-endian, of the record's SHA-256.
  package static func hash(_ id: RecordID, fields: [UInt8]) -> UInt64 {
    var hash = SHA256()
    hash.update(data: Array(id.type.utf8))
    hash.update(data: [0])
    hash.update(data: Array(id.id.utf8))
    hash.update(data: [0])
    hash.update(data: fields)
    return hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  /// Returns the sum so far. `scope` and `position` are passed on, as the caller chose the records.
  package func digest(of scope: SyncScope, position: Int64? = nil) -> ScopeDigest {
    ScopeDigest(
      scope: scope, count: count, digest: sum.hexadecimal, position: position,
      parts: parts.map { ScopeDigest.Part(count: $0.count, digest: $0.sum.hexadecimal) })
  }
}
