import BothyStore
import Crypto
import Foundation
import Synchronization

/// Remembers the checksums of tiles for as long as their files are the same, so that an unchanged tile that is asked for
/// again is neither hashed nor, when the caller has it, read.
final class TagTable: Sendable {
  private struct Known {
    var stamp: FileStamp
    var tag: String
  }

  private let known = Mutex<[String: Known]>([:])
  private let limit: Int

  init(limit: Int = 100_000) { self.limit = limit }

  /// The checksum of what has this name, if it was made of this version of the file.
  func tag(_ name: String, _ stamp: FileStamp) -> String? {
    known.withLock { $0[name] }.flatMap { $0.stamp == stamp ? $0.tag : nil }
  }

  func remember(_ tag: String, _ name: String, _ stamp: FileStamp) {
    known.withLock { known in
      // Begun anew when it is full: a tag costs no more than one reading of its tile.
      if known.count >= limit { known.removeAll(keepingCapacity: true) }
      known[name] = Known(stamp: stamp, tag: tag)
    }
  }

  /// The first half of the SHA-256 of some bytes, in hexadecimal digits.
  static func checksum(_ bytes: some DataProtocol) -> String {
    SHA256.hash(data: bytes).prefix(16).hexadecimal
  }
}
