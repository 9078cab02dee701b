import BothyStore
import Crypto
import Foundation
import Synchronization

/// Caches the checksums of tiles as long as their files are unchanged. An unchanged tile that is requested again isn't
/// hashed, and isn't read either if the caller has it.
final class ETagCache: Sendable {
  private struct Known {
    var stamp: FileVersion
    var tag: String
  }

  private let known = Mutex<[String: Known]>([:])
  private let limit: Int

  init(limit: Int = 100_000) { self.limit = limit }

  /// Returns the checksum of this name, if it was computed from this version of the file.
  func tag(_ name: String, _ stamp: FileVersion) -> String? {
    known.withLock { $0[name] }.flatMap { $0.stamp == stamp ? $0.tag : nil }
  }

  func remember(_ tag: String, _ name: String, _ stamp: FileVersion) {
    known.withLock { known in
      // A full table is cleared, because a tag costs no more than one read of its tile.
      if known.count >= limit { known.removeAll(keepingCapacity: true) }
      known[name] = Known(stamp: stamp, tag: tag)
    }
  }

  /// Returns the first half of the SHA-256 of some bytes, in hexadecimal digits.
  static func checksum(_ bytes: some DataProtocol) -> String {
    SHA256.hash(data: bytes).prefix(16).hexadecimal
  }
}
