#if canImport(MapKit)
  public import Foundation
  public import MapKit

  /// An overlay of MapKit whose tiles are read through a cache: what a region has is drawn without a network.
  ///
  /// ```swift
  /// mapView.addOverlay(CachedTileOverlay(TileLayer(hills, in: cache)), level: .aboveLabels)
  /// ```
  ///
  /// Its tiles are pictures. MapKit draws no vector tiles.
  public final class CachedTileOverlay: MKTileOverlay {
    private let layer: TileLayer

    /// Creates an overlay with the zooms of the layer's source.
    ///
    /// Reads nothing yet. MapKit requests tiles of these zooms alone.
    public init(_ layer: TileLayer) {
      self.layer = layer
      super.init(urlTemplate: nil)
      minimumZ = layer.source.zooms.lowerBound
      maximumZ = layer.source.zooms.upperBound
    }

    /// Returns the bytes of a tile, for MapKit. Reads the cache first, then the network.
    ///
    /// Throws `BothyError`, after which MapKit draws nothing there. The code is `.absent` for a tile that the source
    /// lacks.
    override public func loadTile(at path: MKTileOverlayPath) async throws -> Data {
      let tile = try Tile(x: path.x, y: path.y, zoom: path.z)
      guard let bytes = try await layer.value(tile).bytes else {
        throw BothyError(.absent, "The source \(layer.source.id) has no tile \(tile).")
      }
      return bytes
    }
  }
#endif
