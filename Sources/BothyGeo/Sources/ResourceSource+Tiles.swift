public import BothyCache

extension ResourceSource {
  /// The key of a tile. Throws `CacheError.zoomOutOfRange` outside the source's zooms.
  public func key(_ tile: Tile) throws(CacheError) -> ResourceKey {
    try key(zoom: tile.zoom, x: tile.x, y: tile.y)
  }

  /// The zooms at which there are tiles, in the terms of the map.
  public var zoomRange: ZoomRange { ZoomRange(unchecked: zooms) }
}

extension Tile {
  /// The tile that a key names; nil for keys of other resources.
  public init?(_ key: ResourceKey) {
    guard case .tile(let bits) = key.name else { return nil }
    let mask: UInt64 = (1 << 29) - 1
    // A key can be made of any numbers; those of no tile are none.
    guard
      let tile = try? Tile(x: Int(bits >> 29 & mask), y: Int(bits & mask), zoom: Int(bits >> 58))
    else { return nil }
    self = tile
  }
}

extension TileScheme {
  /// The rule by which a source with this scheme makes addresses: the base, the tile's path and the extension, `{s}` in
  /// the base being the host. The name tells rules apart.
  public func rule(_ name: String, base: String, fileExtension: String) -> AddressRule {
    AddressRule(name) { key, host in
      let root = base.replacing("{s}", with: host)
      let path = Tile(key).map { self.path(of: $0) } ?? key.path
      return
        "\(root.hasSuffix("/") ? root : root + "/")\(path)\(fileExtension.isEmpty ? "" : "." + fileExtension)"
    }
  }
}
