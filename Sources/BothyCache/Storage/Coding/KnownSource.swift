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
  /// The probability that two keys have an equal number is one in 2^62. The two lowest bits are the variant, so the
  /// variants of a key are adjacent.
  func number(of key: ResourceKey) -> Int64 {
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
  private static let variantBits: UInt64 = 3

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
