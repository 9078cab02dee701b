import BothyStore

/// Finds where roads and paths meet: at positions that their lines share.
///
/// A position is an intersection if at least two roads have it and at least three ways lead from it. A road that only
/// continues as another has none. Bridges and tunnels meet others at their ends only.
struct JunctionFinder {
  private struct Meeting {
    var first: Int64
    var isShared = false
  }

  /// Returns the intersections of the roads and paths among features, at positions that `holds` accepts.
  static func intersections(of features: [TileFeature], where holds: (Coordinate) -> Bool) -> [TileFeature] {
    let roads = features.filter { $0.layer == .road || $0.layer == .path }
    var meetings: [Coordinate: Meeting] = [:]
    visit(roads) { id, position, _ in
      guard var known = meetings[position] else {
        meetings[position] = Meeting(first: id)
        return
      }
      guard !known.isShared, known.first != id else { return }
      known.isShared = true
      meetings[position] = known
    }
    var order: [Coordinate] = []
    var arms: [Coordinate: (roads: Set<Int64>, neighbours: Set<Coordinate>)] = [:]
    visit(roads) { id, position, neighbours in
      guard meetings[position]?.isShared == true, holds(position) else { return }
      if arms[position] == nil { order.append(position) }
      arms[position, default: ([], [])].roads.insert(id)
      arms[position, default: ([], [])].neighbours.formUnion(neighbours)
    }
    return order.compactMap { position in
      guard let found = arms[position], found.neighbours.count > 2 else { return nil }
      return TileFeature(
        layer: .intersection, ids: found.roads.sorted(), type: "highway", value: "gd_intersection",
        tags: Tags(),
        geometry: .point(position), name: nil, nameTag: nil, category: .undefined, center: position)
    }
  }

  /// Calls `body` with the id, a position and the positions beside it, for each position of each line that can meet
  /// others.
  private static func visit(
    _ roads: [TileFeature], _ body: (Int64, Coordinate, [Coordinate]) -> Void
  ) {
    for road in roads {
      guard let id = road.ids.first else { continue }
      let isRaised = isApart(road.tags)
      for line in road.geometry.lines {
        for (index, position) in line.enumerated() {
          let isEnd = index == 0 || index == line.count - 1
          if isRaised, !isEnd { continue }
          var neighbours: [Coordinate] = []
          if index > 0, line[index - 1] != position { neighbours.append(line[index - 1]) }
          if index < line.count - 1, line[index + 1] != position { neighbours.append(line[index + 1]) }
          body(id, position, neighbours)
        }
      }
    }
  }

  /// Returns true for a bridge or a tunnel, in the words of OpenStreetMap and of the known schemas.
  private static func isApart(_ tags: Tags) -> Bool {
    if let brunnel = tags["brunnel"] { return brunnel == "bridge" || brunnel == "tunnel" }
    return ["bridge", "tunnel", "is_bridge", "is_tunnel"].contains { key in
      tags[key].map { $0 != "no" && $0 != "false" && $0 != "0" } ?? false
    }
  }
}
