public import BothyCache

extension ResourceSource {
  /// Returns the key of a tile, for a read of the cache or a pin. Computes it without a look-up.
  ///
  /// Throws `BothyError` `zoomOutOfRange` outside the source's zooms. `TileLayer.bestAvailable(_:)` then finds a
  /// coarser tile.
  public func key(_ tile: Tile) throws(BothyError) -> ResourceKey {
    try key(zoom: tile.zoom, x: tile.x, y: tile.y)
  }

  /// The zooms of the tiles as a `ZoomRange`.
  package var zoomRange: ZoomRange { ZoomRange(unchecked: zooms) }
}

extension Tile {
  /// Creates the tile that a key names, or `nil` for keys of other resources.
  ///
  /// Keys of the same tile at several sources give equal tiles.
  public init?(_ key: ResourceKey) {
    guard case .tile(let bits) = key.name else { return nil }
    let (zoom, x, y) = ResourceKey.tile(of: bits)
    // A key can have any numbers. Numbers of no tile return `nil`.
    guard let tile = try? Tile(x: Int(x), y: Int(y), zoom: Int(zoom)) else { return nil }
    self = tile
  }
}

extension TileScheme {
  /// Returns the rule for addresses of a source with this scheme: the base, the path of the tile and the extension.
  ///
  /// `{s}` in the base is replaced by the host. The name distinguishes rules.
  package func rule(_ name: String, base: String, fileExtension: String) -> AddressRule {
    AddressRule(name) { key, host in
      let root = base.replacing("{s}", with: host)
      let path = Tile(key).map { self.path(of: $0) } ?? key.path
      return
        "\(root.hasSuffix("/") ? root : root + "/")\(path)\(fileExtension.isEmpty ? "" : "." + fileExtension)"
    }
  }
}
