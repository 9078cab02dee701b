extension NearbyMap {
  /// The state of a nearby map, which depends on the tile of the position alone.
  public enum State: Sendable, Hashable {
    /// The map has received no position yet. Queries of the `PlaceStore` work all the same.
    case waitingForLocation
    /// The tile of the position isn't available and is being fetched. Other tiles around it may be shown.
    case loading
    /// The tile of the position is available, possibly in an old version. A tile that the server doesn't have counts
    /// too.
    case ready
    /// The tile of the position isn't available and couldn't be fetched. A map with a network tries again by itself.
    case error

    /// The state after a run.
    package init(after report: NearbyMap.Report, current: Tile, isHeld: Bool) {
      self = isHeld || report.absent.contains(current) ? .ready : .error
    }
  }
}
