/// XXH64, the 64-bit hash of the xxHash specification (github.com/Cyan4973/xxHash, doc/xxhash_spec.md, version 0.2.0).
///
/// It detects damage, but does not withstand an attacker, who can write the checksums along with the files.
package enum XXH64 {
  private static let prime1: UInt64 = 0x9E37_79B1_85EB_CA87
  private static let prime2: UInt64 = 0xC2B2_AE3D_27D4_EB4F
  private static let prime3: UInt64 = 0x1656_67B1_9E37_79F9
  private static let prime4: UInt64 = 0x85EB_CA77_C2B2_AE63
  private static let prime5: UInt64 = 0x27D4_EB2F_1656_67C5

  package static func hash(_ bytes: [UInt8], seed: UInt64 = 0) -> UInt64 {
    bytes.withUnsafeBytes { hash($0, seed: seed) }
  }

  package static func hash(_ bytes: UnsafeRawBufferPointer, seed: UInt64 = 0) -> UInt64 {
    var offset = 0
    var hash: UInt64
    if bytes.count >= 32 {
      var lanes = (seed &+ prime1 &+ prime2, seed &+ prime2, seed, seed &- prime1)
      while offset &+ 32 <= bytes.count {
        lanes.0 = round(lanes.0, word(bytes, offset))
        lanes.1 = round(lanes.1, word(bytes, offset &+ 8))
        lanes.2 = round(lanes.2, word(bytes, offset &+ 16))
        lanes.3 = round(lanes.3, word(bytes, offset &+ 24))
        offset &+= 32
      }
      hash = rotate(lanes.0, 1) &+ rotate(lanes.1, 7) &+ rotate(lanes.2, 12) &+ rotate(lanes.3, 18)
      hash = merge(hash, lanes.0)
      hash = merge(hash, lanes.1)
      hash = merge(hash, lanes.2)
      hash = merge(hash, lanes.3)
    } else {
      hash = seed &+ prime5
    }
    return finish(hash &+ UInt64(bytes.count), bytes, from: offset)
  }

  /// Hashes the bytes that do not fill a stripe of 32, and mixes the result.
  private static func finish(_ start: UInt64, _ bytes: UnsafeRawBufferPointer, from start32: Int) -> UInt64 {
    var hash = start
    var offset = start32
    while offset &+ 8 <= bytes.count {
      hash = rotate(hash ^ round(0, word(bytes, offset)), 27) &* prime1 &+ prime4
      offset &+= 8
    }
    if offset &+ 4 <= bytes.count {
      let half = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
      hash = rotate(hash ^ (UInt64(half) &* prime1), 23) &* prime2 &+ prime3
      offset &+= 4
    }
    while offset < bytes.count {
      hash = rotate(hash ^ (UInt64(bytes[offset]) &* prime5), 11) &* prime1
      offset &+= 1
    }
    hash = (hash ^ (hash >> 33)) &* prime2
    hash = (hash ^ (hash >> 29)) &* prime3
    return hash ^ (hash >> 32)
  }

  @inline(__always)
  private static func word(_ bytes: UnsafeRawBufferPointer, _ offset: Int) -> UInt64 {
    UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self))
  }

  @inline(__always)
  private static func rotate(_ value: UInt64, _ bits: UInt64) -> UInt64 {
    value &<< bits | value &>> (64 &- bits)
  }

  @inline(__always)
  private static func round(_ lane: UInt64, _ input: UInt64) -> UInt64 {
    rotate(lane &+ input &* prime2, 31) &* prime1
  }

  @inline(__always)
  private static func merge(_ hash: UInt64, _ lane: UInt64) -> UInt64 {
    (hash ^ round(0, lane)) &* prime1 &+ prime4
  }
}
