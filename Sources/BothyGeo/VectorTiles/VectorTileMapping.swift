import BothyStore

/// Turns the features of one vector tile into places, roads and paths, by the rules of a schema.
struct VectorTileMapping {
  let tile: Tile
  let schema: TileSchema
  let classifier: Classifier
  private var problems: [FeatureProblem] = []
  private var groups = FeatureGroups()

  init(tile: Tile, schema: TileSchema, classifier: Classifier) {
    self.tile = tile
    self.schema = schema
    self.classifier = classifier
  }

  mutating func decode(_ content: VectorTile) -> DecodedTile {
    problems = content.problems
    let named = coveringSegments(content)
    for (rank, rule) in schema.rules.enumerated() {
      for layer in content.layers where layer.name == rule.layer {
        for feature in layer.features {
          if case .lines(let lines)? = feature.shape, let named = named[layer.name], named.cover(lines) {
            continue
          }
          add(feature, of: layer, rule, rank)
        }
      }
    }
    let features = groups.features(onePerID: schema.ids != .computed)
    let bounds = tile.bounds
    let junctions = JunctionFinder.intersections(of: features) { bounds.owns($0) }
    return DecodedTile(features: features + junctions, problems: problems, format: schema.name)
  }

  /// Returns the segments that lines with names draw, by the layer that they cover.
  private func coveringSegments(_ content: VectorTile) -> [String: GridSegments] {
    var found: [String: GridSegments] = [:]
    for rule in schema.rules {
      guard let covered = rule.covers else { continue }
      for layer in content.layers where layer.name == rule.layer {
        for feature in layer.features {
          guard case .lines(let lines)? = feature.shape,
            TileSchema.place(texts(layer, feature), rule) != nil
          else { continue }
          found[covered, default: GridSegments()].insert(lines)
        }
      }
    }
    return found
  }

  private func texts(
    _ layer: VectorTile.Layer, _ feature: VectorTile.Feature
  ) -> [(key: String, value: String)] {
    layer.properties(of: feature).map { ($0.key, $0.value.text) }
  }

  private mutating func add(
    _ feature: VectorTile.Feature, of layer: VectorTile.Layer, _ rule: TileSchema.Rule, _ rank: Int
  ) {
    guard let shape = feature.shape, rule.shapes.contains(shape.extent) else { return }
    let properties = texts(layer, feature)
    guard let (key, value) = TileSchema.place(properties, rule) else { return }
    let tags = tags(properties, rule, key, value)
    if rule.isNamed, tags["name"] ?? "" == "" { return }
    let projection = TileGridProjection(tile: tile, extent: layer.extent)
    do {
      guard let geometry = try projection.geometry(shape) else { return }
      let isCut = geometry.extent != .point && !projection.encloses(shape)
      let isStreet = key == "highway" && geometry.extent == .line && Self.isNamed(tags)
      let element = schema.ids.element(feature.id)
      let id = element ?? computedID(feature, layer, key, value, tags, geometry, isCut, isStreet)
      var found = try classifier.feature(ids: [id], type: key, value: value, tags: tags, geometry: geometry)
      if found.geometry.extent == .point {
        guard shape.extent == .point || tile.bounds.owns(found.center) else { return }
      } else if isCut || element == nil && isStreet {
        // Other tiles have streets with the same id, even if this one ends before the edge.
        found.cutBy = tile
      }
      groups.add(found, rank)
    } catch {
      report(error.reason, feature, layer)
    }
  }

  private mutating func report(_ reason: String, _ feature: VectorTile.Feature, _ layer: VectorTile.Layer) {
    guard problems.count < VectorTile.problemLimit else { return }
    problems.append(FeatureProblem(index: feature.index, reason: "\(reason), in the layer '\(layer.name)'"))
  }

  /// Returns the properties as OpenStreetMap's tags, with the key and value that the rule found.
  private func tags(
    _ properties: [(key: String, value: String)], _ rule: TileSchema.Rule, _ key: String, _ value: String
  ) -> Tags {
    let name = properties.last { $0.key == "name" }?.value
    var own: [(key: String, value: String)] = []
    var renamed: [(key: String, value: String)] = []
    for (field, text) in properties where !text.isEmpty && !schema.ignored.contains(field) {
      if rule.classes.contains(field) { continue }
      guard let other = schema.fields[field] else {
        own.append((field, text))
        continue
      }
      // A name that is repeated as one in a language says nothing about the language.
      if !(other.hasPrefix("name:") && text == name) { renamed.append((other, text)) }
    }
    // Later ones count, so a field that has the name already wins.
    return Tags(renamed + own + [(key, value)])
  }

  /// Returns an id for a feature that has none of OpenStreetMap.
  ///
  /// Pieces of a street have one id in all tiles, by the name, number and class. So do shapes that an edge cuts, if they
  /// have an id of the layer. A point without such an id is known by its position. Any other feature is known in its tile
  /// only, as the ids of a layer are those of other features in other tiles.
  private func computedID(
    _ feature: VectorTile.Feature, _ layer: VectorTile.Layer, _ key: String, _ value: String, _ tags: Tags,
    _ geometry: Geometry, _ isCut: Bool, _ isStreet: Bool
  ) -> Int64 {
    let name = tags["name"] ?? ""
    if isStreet { return ComputedID.of("road", value, name, tags["ref"] ?? "") }
    if let id = feature.id, id > 0 {
      return ComputedID.of("id", layer.name, "\(id)", value, name, isCut ? "" : "\(tile)")
    }
    let place = ComputedID.text(geometry.outline.first)
    if geometry.extent == .point { return ComputedID.of("point", key, value, name, place) }
    let last = ComputedID.text(geometry.outline.last)
    return ComputedID.of("piece", key, value, name, "\(tile)", place, last, "\(geometry.outline.count)")
  }
}

extension VectorTileMapping {
  /// True for a road that has a name or a number.
  private static func isNamed(_ tags: Tags) -> Bool {
    ["name", "ref"].contains { tags[$0]?.isEmpty == false }
  }
}

extension GridShape {
  /// The kind of extent of the shape.
  var extent: Geometry.Extent {
    switch self {
    case .points: .point
    case .lines: .line
    case .polygons: .area
    }
  }
}

extension GeoBox {
  /// Returns true if a position is in a tile with these bounds. One on an edge belongs to the tile to the east or south.
  func owns(_ position: Coordinate) -> Bool {
    position.longitude >= west && position.longitude < east && position.latitude <= north
      && position.latitude > south
  }
}

/// The segments of lines, in either direction.
private struct GridSegments {
  private struct Segment: Hashable {
    var start: GridPoint
    var end: GridPoint

    init(_ start: GridPoint, _ end: GridPoint) {
      let isOrdered = (start.x, start.y) < (end.x, end.y)
      self.start = isOrdered ? start : end
      self.end = isOrdered ? end : start
    }
  }

  private var segments: Set<Segment> = []

  mutating func insert(_ lines: [[GridPoint]]) {
    for line in lines {
      for (start, end) in zip(line, line.dropFirst()) { segments.insert(Segment(start, end)) }
    }
  }

  /// Returns true if the segments include at least half of those of the lines.
  func cover(_ lines: [[GridPoint]]) -> Bool {
    var (known, all) = (0, 0)
    for line in lines {
      for (start, end) in zip(line, line.dropFirst()) {
        all += 1
        if segments.contains(Segment(start, end)) { known += 1 }
      }
    }
    return known * 2 >= all
  }
}
