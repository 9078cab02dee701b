/// The name of one resource in the cache: its source, and its path or tile within that source.
///
/// The host of the resource is never part of the key, so alias hosts share one copy. Comparing and hashing a tile's key
/// allocates nothing. `ResourceSource.key(path:)` and its relatives make keys in canonical form.
///
/// It is `Codable` for stores of an app's own, with the variant.
public struct ResourceKey: Hashable, Sendable, Codable {
  /// The source of the resource. It must be registered with the cache that reads the key.
  ///
  /// Otherwise reads throw `BothyError` `unknownSource`.
  public let source: SourceID
  /// The variant of the response, 0 to 3. Responses under one key differ if they depend on the request (`Vary`).
  ///
  /// Keys of readers have variant 0. Only stores see other variants.
  package let variant: UInt8
  package let name: Name

  package enum Name: Hashable, Sendable, Codable {
    case path(String)
    /// A tile: zoom in the six highest bits, then 29 bits of x and 29 of y.
    case tile(UInt64)
  }

  /// Creates a key from a path.
  ///
  /// Checks and changes nothing, so two spellings of a path are two keys. `ResourceSource.key(path:)` normalizes the
  /// path.
  ///
  /// - Parameter path: the path within the source with its query, in the canonical form of the source's rules. It has
  ///   no slash at its beginning.
  public init(_ source: SourceID, path: String) {
    self.init(source, .path(path))
  }

  /// Creates the key of a tile. The caller passes a zoom from 0 to 29, and x and y within that zoom.
  ///
  /// Nothing is checked, and bits beyond are cut off. `ResourceSource.key(zoom:x:y:)` checks the numbers.
  ///
  /// - Parameters:
  ///   - x: the column, counted from the west.
  ///   - y: the row, counted from the north.
  public init(_ source: SourceID, zoom: Int, x: Int, y: Int) {
    let mask: UInt64 = (1 << 29) - 1
    self.init(
      source,
      .tile(
        UInt64(truncatingIfNeeded: zoom) << 58 | (UInt64(truncatingIfNeeded: x) & mask) << 29
          | (UInt64(truncatingIfNeeded: y) & mask)))
  }

  /// Returns the numbers of a tile's name. They may be those of no tile.
  package static func tile(of bits: UInt64) -> (zoom: UInt64, x: UInt64, y: UInt64) {
    let mask: UInt64 = (1 << 29) - 1
    return (bits >> 58, bits >> 29 & mask, bits & mask)
  }

  package init(_ source: SourceID, _ name: Name, variant: UInt8 = 0) {
    self.source = source
    self.name = name
    self.variant = variant
  }

  /// The path within the source, or `zoom/x/y` for a tile. Allocates.
  public var path: String {
    switch name {
    case .path(let path): return path
    case .tile(let bits):
      let (zoom, x, y) = Self.tile(of: bits)
      return "\(zoom)/\(x)/\(y)"
    }
  }
}

extension ResourceKey: CustomStringConvertible {
  /// The source and the path with a slash between them, for logs. Secrets of the source aren't in it.
  public var description: String { variant == 0 ? "\(source)/\(path)" : "\(source)/\(path) (\(variant))" }
}

extension ResourceKey {
  /// The number of responses under one key. A fifth replaces the one with the oldest confirmation.
  package static let variantCount: UInt8 = 4

  /// The key that readers use.
  package var base: ResourceKey { of(variant: 0) }

  package func of(variant: UInt8) -> ResourceKey { ResourceKey(source, name, variant: variant) }

  /// All places of responses under this key.
  package var variants: [ResourceKey] { (0..<Self.variantCount).map { of(variant: $0) } }
}
