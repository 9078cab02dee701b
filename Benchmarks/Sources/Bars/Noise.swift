package import Foundation

/// Bytes that can't be compressed. They are equal in every run.
package enum Noise {
  /// Returns the bytes of a number, so many of them.
  package static func bytes(_ number: Int, size: Int) -> Data {
    var state = UInt64(truncatingIfNeeded: number) &* 0x9E37_79B9_7F4A_7C15 | 1
    var words: [UInt64] = []
    words.reserveCapacity((size + 7) / 8)
    for _ in 0..<(size + 7) / 8 {
      state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      words.append(state ^ state >> 29)
    }
    return words.withUnsafeBytes { Data($0.prefix(size)) }
  }
}
