import BothyCache

/// Loads of the tiles of a run.
extension NearbyMap {
  /// Loads tiles concurrently. A run for the map's own position is tried again later, so it doesn't wait for a server
  /// that is down.
  func load(
    _ tiles: [Tile], current: Tile, into report: inout NearbyMap.Report, waitsForHost: Bool = false,
    done: (Int) -> Void = { _ in }
  ) async {
    let held = (try? await loading.held(tiles)) ?? [:]  // if unreadable, loading reports it
    let underived = (try? await loading.underived(tiles)) ?? []
    let watch = loading.watch(over: Set(held.keys.filter { loads[$0] == nil }), after: self.watch)
    if !held.isEmpty { self.watch = watch }
    let tasks = tiles.map { tile -> (Tile, Task<TileOutcome, Never>) in
      var way = TileLoading.Way(priority: tile == current ? .visible : .normal, watch)
      // The bytes of a tile that was read with other categories are in the cache.
      way.isOtherwise = held[tile] == PlaceTile.never || underived.contains(tile)
      way.isHeld = held[tile] != nil && !way.isOtherwise
      way.waitsForHost = waitsForHost
      way.hasNetwork = hasNetwork
      return (tile, startLoad(tile, way))
    }
    for (tile, task) in tasks {
      report.note(tile, await task.value, isHeld: held[tile] != nil)
      done(report.count)
    }
  }

  /// Returns the running load of a tile, or starts one.
  private func startLoad(_ tile: Tile, _ way: TileLoading.Way) -> Task<TileOutcome, Never> {
    if let known = loads[tile] { return known.task }
    loadNumber += 1
    let number = loadNumber
    let loading = loading
    let task = Task {
      let outcome = await loading.load(tile, way)
      self.land(tile, number, outcome)
      return outcome
    }
    loads[tile] = (number, task)
    return task
  }

  private func land(_ tile: Tile, _ number: Int, _ outcome: TileOutcome) {
    // A new tile is reported when it is shown, which may have happened before.
    if case .loaded(isNew: false) = outcome { untold.insert(tile) }
    if loads[tile]?.number == number { loads[tile] = nil }
  }
}
