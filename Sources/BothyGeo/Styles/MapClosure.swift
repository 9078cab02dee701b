import BothyCache
import BothyStore

/// All that a renderer can ask for to draw a style: its documents, sprites, glyphs and sources of tiles.
///
/// It is made from the style and the TileJSON documents alone, and sends no request. Addresses have no secrets.
package struct MapClosure: Sendable, Hashable {
  /// The address of the style.
  package var style: String
  /// The addresses of the TileJSON documents and of archives, each once.
  package var documents: [String] = []
  /// The names of sources of tiles by the addresses of their archives.
  package var archives: [String: String] = [:]
  /// The addresses of sprites, GeoJSON, pictures and font files, each once.
  package var files: [String] = []
  /// The address of glyphs with `{fontstack}` and `{range}`, or `nil`.
  package var glyphs: String?
  /// The font stacks, in order.
  package var fonts: [String] = []
  /// The sources of tiles, in the order of their names.
  package var tiles: [Tiles] = []
  /// The numbers of ids, by the names of sources whose first ids have tiles of another address.
  package var editions: [String: Int] = [:]

  /// A source of tiles. Sources of a style with one address are one.
  package struct Tiles: Sendable, Hashable {
    /// Its names in the style. The first is a part of the id of its source.
    package var names: [String]
    /// The address with placeholders or that of an archive, or `nil` if it was lost.
    package var template: String?
    /// The values of `{s}` in the address.
    package var hosts: [String] = []
    /// The zooms that have tiles.
    package var zooms: ZoomRange
    /// The zoom of a tile above that of the map, at the least: 1 for tiles of 256 pixels, -1 for terrain.
    package var leastShift: Double = 0
    /// The zoom of a tile above that of the map, at the most.
    package var mostShift: Double = 0
    /// The zooms of the map at which a layer draws it, or `nil` if no layer does.
    package var drawn: ZoomRange?
    /// The area of the tiles.
    package var bounds: GeoBox = .world
    /// The text that its owner requires beside the map. It may be HTML.
    package var attribution = ""
    /// The form of the tiles, or `nil` if it isn't known.
    var form: TileForm?

    /// Returns the zooms of the tiles that a map between two zooms can ask for, or `nil` for none.
    package func zooms(of map: ZoomRange) -> ZoomRange? {
      guard let shown = drawn?.common(with: map) else { return nil }
      let low = Int((Double(shown.lowest) + leastShift).rounded(.down))
      let high = Int((Double(shown.highest) + mostShift).rounded(.up))
      // Beyond its last zoom, a renderer enlarges the last tiles. Below its first, it requests none.
      guard high >= zooms.lowest else { return nil }
      return ZoomRange(
        unchecked: min(max(low, zooms.lowest), zooms.highest)...min(high, zooms.highest))
    }

    /// Returns the part of an area that has tiles, or `nil`. Polygons stay whole.
    func area(in area: RegionArea) -> RegionArea? {
      guard area.bounds.intersects(bounds) else { return nil }
      guard case .box(let box) = area, !box.crossesAntimeridian, !bounds.crossesAntimeridian else {
        return area
      }
      return .box(
        GeoBox(
          west: max(box.west, bounds.west), south: max(box.south, bounds.south),
          east: min(box.east, bounds.east), north: min(box.north, bounds.north)))
    }
  }

  package init(style: String) { self.style = style }

  /// Returns the tiles of a source by its name in the style, or `nil`.
  func part(named name: String) -> Tiles? { tiles.first { $0.names.contains(name) } }

  /// The number of ranges of 256 characters that a font has glyphs in.
  package static let glyphRanges = 256

  /// Returns the name of a range of glyphs, such as `0-255`.
  package static func glyphRange(_ number: Int) -> String { "\(number * 256)-\(number * 256 + 255)" }

  /// Returns the address of a range of glyphs, or `nil` for a style without glyphs.
  package func glyphs(_ font: String, _ range: Int) -> String? {
    glyphs?.replacing("{fontstack}", with: font.replacing(" ", with: "%20"))
      .replacing("{range}", with: Self.glyphRange(range))
  }

  /// The style and the documents that servers have. Files of the app need no region.
  var requestedDocuments: [String] { [style] + documents.filter { !StyleArchive.isFile($0) } }

  /// The addresses that don't depend on the part of the map: the style, the documents, files and glyphs.
  package var addresses: [String] {
    var all = requestedDocuments + files
    for font in fonts { all += (0..<Self.glyphRanges).compactMap { glyphs(font, $0) } }
    return all
  }

  /// The hosts of all addresses.
  package var hosts: Set<String> {
    let templates = tiles.flatMap { part in
      part.hosts.isEmpty ? [part.template].compactMap { $0 } : part.hosts.map { "https://\($0)/" }
    }
    let all = [style] + documents + files + [glyphs].compactMap { $0 } + templates
    return Set(all.compactMap { StyleArchive.web($0)?.host })
  }
}
