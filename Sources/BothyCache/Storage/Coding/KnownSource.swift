internal import Foundation
internal import Synchronization

/// What a store has worked out once for a source: the bytes and the hash of its name, and the folder of its files.
struct KnownSource: Sendable {
  let id: SourceID
  /// UTF-8 of the name in composed form, so that equal texts are equal bytes.
  let name: [UInt8]
  let hash: UInt64
  /// Path of the folder with a slash behind it; empty where there are no files.
  let folder: [UInt8]

  /// The number of a key in this source: the same in every process, and different for different keys but for one in
  /// 2^62. The two lowest bits are the variant, so that those of one key lie side by side.
  func number(of key: ResourceKey) -> Int64 {
    let number =
      switch key.name {
      case .tile(let bits): withUnsafeBytes(of: bits.littleEndian) { XXH64.hash($0, seed: hash) }
      case .path(let path):
        path.withComposedUTF8 { XXH64.hash(UnsafeRawBufferPointer($0), seed: ~hash) }
      }
    return Int64(bitPattern: number & ~Self.variantBits | UInt64(key.variant) & Self.variantBits)
  }

  /// The number of the same key's variant 0.
  static func base(_ number: Int64) -> Int64 { number & ~Int64(variantBits) }
  static func variant(_ number: Int64) -> UInt8 { UInt8(truncatingIfNeeded: number & Int64(variantBits)) }
  private static let variantBits: UInt64 = 3

  /// What the checksums of metadata cover besides: the bytes and the source that they belong to.
  func seed(_ bodyChecksum: UInt64) -> UInt64 { hash ^ bodyChecksum }
}

/// The sources that a store has met.
final class SourceBook: Sendable {
  private let folder: String?
  private let known = Mutex<[SourceID: KnownSource]>([:])

  /// - Parameter folder: where the folders of sources lie; nil where there are no files.
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
