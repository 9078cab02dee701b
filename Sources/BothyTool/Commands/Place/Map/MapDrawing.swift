import BothyGeo
import BothyStore

/// A map as SVG text: tiles by freshness, features by layer and category, a legend, and the attribution. It has no
/// access to files.
struct MapDrawing {
  enum TileState: String, CaseIterable { case fresh, stale, missing }

  let box: GeoBox
  let width: Double
  let tiles: [(tile: Tile, state: TileState)]
  let features: [TileFeature]
  let attributions: [String]
  var language: String?

  private let plane: MapPlane
  private static let legendWidth = 150.0
  private static let footHeight = 22.0

  init(
    box: GeoBox, width: Double, tiles: [(Tile, TileState)], features: [TileFeature], attributions: [String],
    language: String?
  ) {
    self.box = box
    self.width = width
    self.tiles = tiles.map { (tile: $0.0, state: $0.1) }
    self.attributions = attributions
    self.language = language
    let plane = MapPlane(box: box, width: width - Self.legendWidth)
    self.plane = plane
    self.features = features.filter { plane.shows($0.geometry) }.sorted { left, right in
      (Self.depth(left), left.key) < (Self.depth(right), right.key)
    }
  }

  var counts: (features: Int, tiles: [TileState: Int]) {
    (features.count, Dictionary(grouping: tiles, by: \.state).mapValues(\.count))
  }

  /// Orders areas below lines below points, so that larger shapes hide no smaller ones.
  private static func depth(_ feature: TileFeature) -> Int {
    switch (feature.geometry.extent, feature.layer) {
    case (.area, _): 0
    case (.line, .path): 1
    case (.line, _): 2
    case (.point, .intersection): 3
    case (.point, _): 4
    }
  }

  func svg() -> String {
    let height = max(plane.height, MapLegend.height)
    var lines = [
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="\(SVG.number(width))" height="\(SVG.number(height + Self.footHeight))" \
      viewBox="0 0 \(SVG.number(width)) \(SVG.number(height + Self.footHeight))" font-family="sans-serif">
      """,
      "<title>Places and tiles</title>",
      SVG.rectangle(0, 0, width, height + Self.footHeight, fill: "#ffffff"),
      """
      <clipPath id="frame"><rect width="\(SVG.number(plane.width))" height="\(SVG.number(plane.height))"/></clipPath>
      """, "<g clip-path=\"url(#frame)\">",
    ]
    lines += tiles.map(tile)
    lines += features.map(feature)
    lines += labels()
    lines.append("</g>")
    lines += MapLegend.lines(x: plane.width + 12, features: features, tiles: counts.tiles)
    let credit =
      attributions.isEmpty ? "not stated whose they are" : attributions.joined(separator: " · ")
    lines.append(
      SVG.text(8, height + 15, size: 11, "Data: \(credit)", extra: " fill=\"#333333\" class=\"attribution\""))
    lines.append("</svg>")
    return lines.joined(separator: "\n") + "\n"
  }

  private func tile(_ tile: Tile, _ state: TileState) -> String {
    let box = tile.bounds
    let corner = plane.point(Coordinate(latitude: box.north, longitude: box.west))
    let other = plane.point(Coordinate(latitude: box.south, longitude: box.west))
    let edge = other.y - corner.y
    let rectangle = SVG.rectangle(
      corner.x, corner.y, edge, edge, fill: MapLegend.color(state),
      extra: " fill-opacity=\"0.12\" stroke=\"\(MapLegend.color(state))\" class=\"tile \(state.rawValue)\"")
    return rectangle
      + SVG.text(
        corner.x + 4, corner.y + 12, size: 9, "\(tile)", extra: " fill=\"\(MapLegend.color(state))\"")
  }

  private func feature(_ feature: TileFeature) -> String {
    let style = MapLegend.style(feature)
    let title = "<title>\(SVG.escaped(feature.title(language)))</title>"
    switch feature.geometry {
    case .point(let position): return dot(position, style, title)
    case .multiPoint(let positions): return positions.map { dot($0, style, title) }.joined()
    case .lineString(let line): return path([line], isClosed: false, style, title)
    case .multiLineString(let lines): return path(lines, isClosed: false, style, title)
    case .polygon(let polygon): return path(polygon.rings, isClosed: true, style, title)
    case .multiPolygon(let polygons):
      return path(polygons.flatMap(\.rings), isClosed: true, style, title)
    }
  }

  private func dot(_ position: Coordinate, _ style: MapLegend.Style, _ title: String) -> String {
    let point = plane.point(position)
    return """
      <circle cx="\(SVG.number(point.x))" cy="\(SVG.number(point.y))" r="\(SVG.number(style.size))" \
      fill="\(style.color)" stroke="#ffffff" stroke-width="0.5">\(title)</circle>
      """
  }

  private func path(
    _ lines: [[Coordinate]], isClosed: Bool, _ style: MapLegend.Style, _ title: String
  ) -> String {
    let data = lines.map { line in
      let points = line.map(plane.point).map { "\(SVG.number($0.x)) \(SVG.number($0.y))" }
      return "M" + points.joined(separator: "L") + (isClosed ? "Z" : "")
    }.joined()
    let paint =
      isClosed
      ? "fill=\"\(style.color)\" fill-opacity=\"0.25\" fill-rule=\"evenodd\" stroke-width=\"0.8\""
      : "fill=\"none\" stroke-width=\"\(SVG.number(style.size))\" stroke-linecap=\"round\""
    return "<path d=\"\(data)\" \(paint) stroke=\"\(style.color)\">\(title)</path>"
  }

  /// Returns the names of places for which the picture has room. Earlier names have precedence.
  private func labels() -> [String] {
    var taken: [(x: Double, y: Double, width: Double)] = []
    var lines: [String] = []
    for feature in features.reversed() where feature.layer == .poi {
      guard let name = language.flatMap({ feature.name(in: $0) }) ?? feature.name else { continue }
      let point = plane.point(feature.center)
      let text = name.count > 28 ? name.prefix(27) + "…" : name
      let label = (x: point.x + 5, y: point.y + 3, width: Double(text.count) * 5.2)
      let isFree = taken.allSatisfy {
        label.y + 11 < $0.y || $0.y + 11 < label.y || label.x + label.width < $0.x
          || $0.x + $0.width < label.x
      }
      guard isFree, taken.count < 400 else { continue }
      taken.append(label)
      lines.append(SVG.text(label.x, label.y, size: 9, text, extra: " fill=\"#222222\""))
    }
    return lines
  }
}
