extension OfflineRegions {
  /// The tiles of an area, coarse ones first. They are counted and iterated without creating a list.
  package struct Tiles: Sequence, Sendable {
    fileprivate enum Cover: Sendable {
      case grids([TileGrid])
      case polygons(AreaCover)
    }

    private let cover: Cover
    private let zooms: ClosedRange<Int>

    /// Creates the sequence. Throws `BothyError` for an invalid area.
    package init(_ area: RegionArea, zooms: ZoomRange) throws(BothyError) {
      self.zooms = zooms.lowest...zooms.highest
      switch area {
      case .box(let box):
        var grids: [TileGrid] = []
        for zoom in self.zooms { grids.append(try TileGrid(covering: box, zoom: zoom)) }
        cover = .grids(grids)
      case .polygons(let polygons): cover = .polygons(try AreaCover(polygons))
      }
    }

    /// Returns the number of tiles, at most `limit + 1`, as counting ends there. For a box, the cost is constant. For
    /// polygons, it is a few steps for each tile at their edges.
    package func count(limit: Int = .max) throws(BothyError) -> Int {
      switch cover {
      case .grids(let grids):
        let sum = grids.reduce(0) { sum, grid in
          let (total, overflow) = sum.addingReportingOverflow(grid.count)
          return overflow ? .max : total
        }
        return limit == .max ? sum : Swift.min(sum, limit + 1)
      case .polygons(let area): return try area.count(zooms: zooms, limit: limit)
      }
    }

    package struct Iterator: IteratorProtocol {
      private struct Open {
        var tile: Tile
        /// The edges near the tile, or `nil` for a tile completely inside the area.
        var near: [PolygonCover.Edge]?
      }

      private let cover: Cover
      private let last: Int
      private var zoom: Int
      private var grid: TileGrid.Iterator?
      /// The tiles to check, the next one last, at most three of each zoom.
      private var open: [Open] = []

      fileprivate init(_ cover: Cover, _ zooms: ClosedRange<Int>) {
        self.cover = cover
        last = zooms.upperBound
        zoom = zooms.lowerBound
        begin()
      }

      package mutating func next() -> Tile? {
        while true {
          if let tile = nextOfZoom() { return tile }
          guard zoom < last else { return nil }
          zoom += 1
          begin()
        }
      }

      private mutating func begin() {
        switch cover {
        case .grids(let grids): grid = grids.first { $0.zoom == zoom }?.makeIterator()
        case .polygons(let area):
          open = [Open(tile: Tile(uncheckedX: 0, y: 0, zoom: 0), near: area.cover.edges)]
        }
      }

      private mutating func nextOfZoom() -> Tile? {
        guard case .polygons(let area) = cover else { return grid?.next() }
        while let this = open.popLast() {
          var inner: [PolygonCover.Edge]?
          if let near = this.near {
            switch area.cover.place(of: this.tile, near) {
            case .outside: continue
            case .inside: inner = nil
            case .edge(let touching): inner = touching
            }
          }
          if this.tile.zoom == zoom { return this.tile }
          open += this.tile.children.reversed().map { Open(tile: $0, near: inner) }
        }
        return nil
      }
    }

    package func makeIterator() -> Iterator { Iterator(cover, zooms) }
  }
}
