package import Foundation

/// The size and the checksum of a stored body, without the body.
package struct StoredDigest: Sendable, Hashable {
  /// The number of bytes. An entry that says that nothing exists has none.
  package var size: Int64
  /// The checksum of the bytes.
  package var checksum: UInt64

  package init(size: Int64, checksum: UInt64) {
    self.size = size
    self.checksum = checksum
  }

  /// Computes the digest of some bytes.
  package init(of body: Data) {
    size = Int64(body.count)
    checksum = body.withUnsafeBytes { BodyChecksum.of($0) }
  }
}
