/// XXH3 with 64 bits and without a seed, for inputs of more than 240 bytes, in half of XXH64's time.
///
/// It follows the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, version 0.2.0). Like XXH64, it
/// detects damage, but does not withstand an attacker.
package enum XXH3 {
  /// The shortest input. Shorter ones have forms of their own in the specification.
  package static let shortest = 241
  private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime32: UInt64 = 0x9E37_79B1
  private static let start: [UInt64] = [
    0xC2B2_AE3D, prime1, 0xC2B2_AE3D_27D4_EB4F, 0x1656_67B1_9E37_79F9, 0x85EB_CA77_C2B2_AE63, 0x85EB_CA77,
    0x27D4_EB2F_1656_67C5, prime32,
  ]
  private typealias Pair = SIMD2<UInt64>

  /// Eight sums, in pairs.
  private struct Sums {
    var a: Pair
    var b: Pair
    var c: Pair
    var d: Pair

    /// Adds a stripe of 64 bytes.
    @inline(__always)
    mutating func add(_ input: UnsafeRawPointer, _ secret: UnsafeRawPointer) {
      Self.add(input, secret, to: &a)
      Self.add(input + 16, secret + 16, to: &b)
      Self.add(input + 32, secret + 32, to: &c)
      Self.add(input + 48, secret + 48, to: &d)
    }

    @inline(__always)
    private static func add(_ input: UnsafeRawPointer, _ secret: UnsafeRawPointer, to sum: inout Pair) {
      let data = input.pair
      let mixed = data ^ secret.pair
      sum = sum &+ Pair(data.y, data.x) &+ (mixed & Pair(repeating: 0xFFFF_FFFF)) &* (mixed &>> 32)
    }

    @inline(__always)
    mutating func scramble(_ secret: UnsafeRawPointer) {
      Self.scramble(&a, secret)
      Self.scramble(&b, secret + 16)
      Self.scramble(&c, secret + 32)
      Self.scramble(&d, secret + 48)
    }

    @inline(__always)
    private static func scramble(_ sum: inout Pair, _ secret: UnsafeRawPointer) {
      sum = (sum ^ (sum &>> 47) ^ secret.pair) &* Pair(repeating: prime32)
    }

    func merged(_ secret: UnsafeRawPointer, _ count: Int) -> UInt64 {
      var hash = UInt64(count) &* prime1
      for (place, pair) in [a, b, c, d].enumerated() {
        let mixed = pair ^ (secret + place * 16).pair
        let product = mixed.x.multipliedFullWidth(by: mixed.y)
        hash &+= product.low ^ product.high
      }
      hash = (hash ^ (hash >> 37)) &* 0x1656_6791_9E37_79F9
      return hash ^ (hash >> 32)
    }
  }

  /// Returns the hash.
  /// - Parameter bytes: at least `shortest` bytes.
  package static func hash(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    precondition(bytes.count >= shortest, "XXH3 is here for long inputs alone")
    return secret.withUnsafeBytes { secret in
      guard let input = bytes.baseAddress, let secret = secret.baseAddress else { return 0 }
      var sums = Sums(
        a: Pair(start[0], start[1]), b: Pair(start[2], start[3]), c: Pair(start[4], start[5]),
        d: Pair(start[6], start[7]))
      // The input has blocks of 16 stripes, the rest of the last block, and the last stripe, which may overlap.
      let last = bytes.count - 1
      var stripe = 0
      while (stripe + 1) * 64 <= last {
        let place = stripe & 15
        sums.add(input + stripe * 64, secret + place * 8)
        if place == 15 { sums.scramble(secret + 128) }
        stripe += 1
      }
      sums.add(input + (bytes.count - 64), secret + 121)
      return sums.merged(secret + 11, bytes.count)
    }
  }

  /// The specification's secret for hashes without one.
  private static let secret: [UInt8] = [
    0xb8, 0xfe, 0x6c, 0x39, 0x23, 0xa4, 0x4b, 0xbe, 0x7c, 0x01, 0x81, 0x2c, 0xf7, 0x21, 0xad, 0x1c,
    0xde, 0xd4, 0x6d, 0xe9, 0x83, 0x90, 0x97, 0xdb, 0x72, 0x40, 0xa4, 0xa4, 0xb7, 0xb3, 0x67, 0x1f,
    0xcb, 0x79, 0xe6, 0x4e, 0xcc, 0xc0, 0xe5, 0x78, 0x82, 0x5a, 0xd0, 0x7d, 0xcc, 0xff, 0x72, 0x21,
    0xb8, 0x08, 0x46, 0x74, 0xf7, 0x43, 0x24, 0x8e, 0xe0, 0x35, 0x90, 0xe6, 0x81, 0x3a, 0x26, 0x4c,
    0x3c, 0x28, 0x52, 0xbb, 0x91, 0xc3, 0x00, 0xcb, 0x88, 0xd0, 0x65, 0x8b, 0x1b, 0x53, 0x2e, 0xa3,
    0x71, 0x64, 0x48, 0x97, 0xa2, 0x0d, 0xf9, 0x4e, 0x38, 0x19, 0xef, 0x46, 0xa9, 0xde, 0xac, 0xd8,
    0xa8, 0xfa, 0x76, 0x3f, 0xe3, 0x9c, 0x34, 0x3f, 0xf9, 0xdc, 0xbb, 0xc7, 0xc7, 0x0b, 0x4f, 0x1d,
    0x8a, 0x51, 0xe0, 0x4b, 0xcd, 0xb4, 0x59, 0x31, 0xc8, 0x9f, 0x7e, 0xc9, 0xd9, 0x78, 0x73, 0x64,
    0xea, 0xc5, 0xac, 0x83, 0x34, 0xd3, 0xeb, 0xc3, 0xc5, 0x81, 0xa0, 0xff, 0xfa, 0x13, 0x63, 0xeb,
    0x17, 0x0d, 0xdd, 0x51, 0xb7, 0xf0, 0xda, 0x49, 0xd3, 0x16, 0x55, 0x26, 0x29, 0xd4, 0x68, 0x9e,
    0x2b, 0x16, 0xbe, 0x58, 0x7d, 0x47, 0xa1, 0xfc, 0x8f, 0xf8, 0xb8, 0xd1, 0x7a, 0xd0, 0x31, 0xce,
    0x45, 0xcb, 0x3a, 0x8f, 0x95, 0x16, 0x04, 0x28, 0xaf, 0xd7, 0xfb, 0xca, 0xbb, 0x4b, 0x40, 0x7e,
  ]
}

extension UnsafeRawPointer {
  /// Two numbers, low byte first as in the specification.
  @inline(__always)
  fileprivate var pair: SIMD2<UInt64> {
    let pair = loadUnaligned(as: SIMD2<UInt64>.self)
    #if _endian(big)
      return SIMD2(pair.x.byteSwapped, pair.y.byteSwapped)
    #else
      return pair
    #endif
  }
}

/// The checksum of an entry's bytes.
enum BodyChecksum {
  static func of(_ bytes: UnsafeRawBufferPointer) -> UInt64 {
    bytes.count < XXH3.shortest ? XXH64.hash(bytes) : XXH3.hash(bytes)
  }
}
