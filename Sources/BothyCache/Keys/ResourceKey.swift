/// Names one resource in the cache: the source it belongs to, and its path or tile within that source.
///
/// The host it comes from is never part of it, so alias hosts share one copy. Comparing and hashing a tile's key
/// allocates nothing.
public struct ResourceKey: Hashable, Sendable {
  /// The source it belongs to, which is to be registered with the cache that is asked.
  public let source: SourceID
  /// Which of the answers that are kept side by side under one key because they depend on what requests say (`Vary`),
  /// 0 to 3. Readers have keys of variant 0; others are met by stores alone.
  public let variant: UInt8
  package let name: Name

  package enum Name: Hashable, Sendable {
    case path(String)
    /// Zoom in the six highest bits, then 29 bits of x and 29 of y.
    case tile(UInt64)
  }

  /// - Parameter path: the path within the source with its query, as the source's rules have made it canonical.
  public init(_ source: SourceID, path: String) {
    self.init(source, .path(path))
  }

  /// A tile; x and y are to be within the zoom, which is 0 to 29: whoever makes keys of tiles has normalised them.
  public init(_ source: SourceID, zoom: Int, x: Int, y: Int) {
    let mask: UInt64 = (1 << 29) - 1
    self.init(
      source,
      .tile(
        UInt64(truncatingIfNeeded: zoom) << 58 | (UInt64(truncatingIfNeeded: x) & mask) << 29
          | (UInt64(truncatingIfNeeded: y) & mask)))
  }

  package init(_ source: SourceID, _ name: Name, variant: UInt8 = 0) {
    self.source = source
    self.name = name
    self.variant = variant
  }

  /// The path within the source; of a tile `zoom/x/y`. Allocates.
  public var path: String {
    switch name {
    case .path(let path): return path
    case .tile(let bits):
      let mask: UInt64 = (1 << 29) - 1
      return "\(bits >> 58)/\((bits >> 29) & mask)/\(bits & mask)"
    }
  }
}

extension ResourceKey: CustomStringConvertible {
  public var description: String { variant == 0 ? "\(source)/\(path)" : "\(source)/\(path) (\(variant))" }
}

extension ResourceKey {
  /// How many answers are kept under one key. A fifth takes the place of the one that was confirmed longest ago.
  package static let variantCount: UInt8 = 4

  /// The key under which readers know it.
  package var base: ResourceKey { of(variant: 0) }

  package func of(variant: UInt8) -> ResourceKey { ResourceKey(source, name, variant: variant) }

  /// All places of answers under this key.
  package var variants: [ResourceKey] { (0..<Self.variantCount).map { of(variant: $0) } }
}
