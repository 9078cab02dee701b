public import BothyStore
import Crypto

/// Adds up the hashes of records, in any order, for a `ScopeDigest`.
public struct DigestSum: Sendable {
  public private(set) var count = 0
  private var sum: UInt64 = 0

  public init() {}

  /// Adds a live record. `fields` are the bytes of its canonical document.
  public mutating func add(_ id: RecordID, fields: [UInt8]) {
    var hash = SHA256()
    hash.update(data: Array(id.type.utf8))
    hash.update(data: [0])
    hash.update(data: Array(id.id.utf8))
    hash.update(data: [0])
    hash.update(data: fields)
    sum &+= hash.finalize().prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
    count += 1
  }

  public func digest(of scope: PullScope, position: Int64? = nil) -> ScopeDigest {
    let digits = String(sum, radix: 16)
    let padded = String(repeating: "0", count: 16 - digits.count) + digits
    return ScopeDigest(scope: scope, count: count, digest: padded, position: position)
  }
}
