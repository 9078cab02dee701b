internal import Foundation
internal import Synchronization

/// The computed values of a source in a store: the bytes and the hash of its name, and the folder of its files.
struct KnownSource: Sendable {
  let id: SourceID
  /// The UTF-8 of the name in composed form, so that equal texts have equal bytes.
  let name: [UInt8]
  let hash: UInt64
  /// The path of the folder with a slash at the end, or empty without files.
  let folder: [UInt8]

  /// Returns the number of a key in this source, which is equal in every process.
  ///
  /// Its 56 highest bits are a hash, of a path or of a block of 8 × 8 tiles. Six bits are the place within the block,
  /// and the two lowest ones the variant. Neighbouring tiles are therefore adjacent in an index, and so are variants.
  func number(of key: ResourceKey) -> Int64 {
    let number: UInt64
    switch key.name {
    case .tile(let bits):
      let block = bits & ~Self.withinBlock
      let place = (bits >> 29 & 7) << 3 | bits & 7
      number =
        withUnsafeBytes(of: block.littleEndian) { XXH64.hash($0, seed: hash) } & ~Self.blockBits | place << 2
    case .path(let path):
      number =
        path.withComposedUTF8 { XXH64.hash(UnsafeRawBufferPointer($0), seed: ~hash) } & ~Self.blockBits
    }
    return Int64(bitPattern: number | UInt64(key.variant) & Self.variantBits)
  }

  /// Returns the number that a key had in format 2 of an index.
  func earlierNumber(of key: ResourceKey) -> Int64 {
    let number =
      switch key.name {
      case .tile(let bits): withUnsafeBytes(of: bits.littleEndian) { XXH64.hash($0, seed: hash) }
      case .path(let path):
        path.withComposedUTF8 { XXH64.hash(UnsafeRawBufferPointer($0), seed: ~hash) }
      }
    return Int64(bitPattern: number & ~Self.variantBits | UInt64(key.variant) & Self.variantBits)
  }

  /// Returns the number of the key's variant 0.
  static func base(_ number: Int64) -> Int64 { number & ~Int64(variantBits) }
  static func variant(_ number: Int64) -> UInt8 { UInt8(truncatingIfNeeded: number & Int64(variantBits)) }

  /// Returns the number of the block that a number belongs to.
  static func block(_ number: Int64) -> Int64 { number & ~Int64(blockBits) }
  /// Returns the bit of a number among the 64 keys of its block.
  static func bit(_ number: Int64) -> Int64 { 1 << (number >> 2 & 63) }

  /// Returns the name of a block: a path, or the tile with the lowest column and row.
  static func block(_ name: ResourceKey.Name) -> ResourceKey.Name {
    if case .tile(let bits) = name { .tile(bits & ~withinBlock) } else { name }
  }

  /// Returns the name at a place of a block.
  static func name(_ block: ResourceKey.Name, at place: Int) -> ResourceKey.Name {
    guard case .tile(let bits) = block else { return block }
    return .tile(bits | UInt64(place >> 3) << 29 | UInt64(place & 7))
  }

  /// Returns the places of the bits of a mask.
  static func places(of mask: Int64) -> [Int] { (0..<64).filter { mask >> Int64($0) & 1 == 1 } }

  private static let variantBits: UInt64 = 3
  private static let blockBits: UInt64 = 0xFF
  /// The bits of a tile's column and row within its block.
  private static let withinBlock: UInt64 = 7 << 29 | 7

  /// Returns the seed for checksums of metadata, which covers the bytes and the source that it belongs to.
  func seed(_ bodyChecksum: UInt64) -> UInt64 { hash ^ bodyChecksum }
}

/// The sources that a store has used.
final class SourceBook: Sendable {
  private let folder: String?
  private let known = Mutex<[SourceID: KnownSource]>([:])

  /// Creates an empty book.
  /// - Parameter folder: the folder of the sources' folders, or `nil` without files.
  init(folder: String?) { self.folder = folder }

  func source(_ id: SourceID) -> KnownSource {
    if let source = known.withLock({ $0[id] }) { return source }
    let name = id.name.withComposedUTF8 { Array($0) }
    let place = folder.map {
      Array($0.utf8) + [UInt8(ascii: "/")] + PathEncoding.folder(name) + [UInt8(ascii: "/")]
    }
    let source = KnownSource(id: id, name: name, hash: XXH64.hash(name), folder: place ?? [])
    known.withLock { $0[id] = source }
    return source
  }
}

extension String {
  /// Calls `body` with the UTF-8 of the text in composed form (NFC): texts that Swift holds equal have equal bytes.
  func withComposedUTF8<Result>(_ body: (UnsafeBufferPointer<UInt8>) throws -> Result) rethrows -> Result {
    var text = self
    text.makeContiguousUTF8()
    if !text.utf8.allSatisfy({ $0 < 0x80 }) {
      text = text.precomposedStringWithCanonicalMapping
    }
    return try text.withUTF8(body)
  }
}
