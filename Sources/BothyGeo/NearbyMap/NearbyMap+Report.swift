extension NearbyMap {
  /// The results of the requested tiles. A tile may be in `fromStale` and in `failed`.
  ///
  /// Tiles that are stored and fresh aren't requested, and are in none of the sets.
  public struct Report: Sendable {
    /// The tiles that came with new bytes, from the network or from the cache.
    public internal(set) var loaded: Set<Tile> = []
    /// The tiles that the server confirmed, or sent with the same bytes.
    package internal(set) var unchanged: Set<Tile> = []
    /// The tiles that the server doesn't have, and that aren't stored. Later runs look for them again.
    public internal(set) var absent: Set<Tile> = []
    /// The tiles that are shown from an old version, as no newer one came.
    package internal(set) var fromStale: Set<Tile> = []
    /// The tiles whose request failed, with the error. An old version of them stays.
    ///
    /// The code is `.offline` or `.notCached` without a network, `notATile` for bytes of another format, or that of the
    /// request. It is `.signInRequired` if one content came in place of several stored tiles, as on a network that wants
    /// a sign-in first. The same holds for a tile without places in place of one with some, unless another stored tile
    /// shows that the server itself sent it. The only tile with places loses them after 30 days without a confirmation.
    /// It is `.absent` if the server says that a stored tile no longer exists. That
    /// tile is requested again after ten minutes. While a map has a network, it requests tiles around its position again
    /// by itself if they have no old version. It waits 5 seconds at first, and up to 10 minutes later.
    public internal(set) var failed: [Tile: any Error] = [:]

    /// Creates an empty report.
    package init() {}

    /// The number of requested tiles.
    package var count: Int { loaded.count + unchanged.count + absent.count + failed.count }

    /// Adds the outcome of a tile. `isHeld` is true if an old version is available.
    package mutating func note(_ tile: Tile, _ outcome: TileOutcome, isHeld: Bool) {
      switch outcome {
      case .loaded: loaded.insert(tile)
      case .unchanged: unchanged.insert(tile)
      case .absent: absent.insert(tile)
      case .failed(let error):
        failed[tile] = error
        if isHeld { fromStale.insert(tile) }
      }
    }
  }
}
