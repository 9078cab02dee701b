/// The differences between the tiles around the position now and before.
///
/// A tile is in at most one of the sets. To draw again, read the places of the tiles in `added` and `updated`.
public struct TileChange: Sendable, Hashable {
  /// The tiles that are available now and weren't before.
  public var added: Set<Tile> = []
  /// The tiles that were available before and have new content. A tile that the server only confirmed isn't among
  /// them.
  public var updated: Set<Tile> = []
  /// The tiles that are no longer around the position, or no longer available. Their places may still be stored.
  public var removed: Set<Tile> = []

  /// Creates a change, which is empty by default.
  package init(added: Set<Tile> = [], updated: Set<Tile> = [], removed: Set<Tile> = []) {
    self.added = added
    self.updated = updated
    self.removed = removed
  }

  /// True if nothing differs. A map never sends such a change.
  package var isEmpty: Bool { added.isEmpty && updated.isEmpty && removed.isEmpty }
}

/// The shown tiles. Computes the change when other tiles are shown.
struct ShownTiles: Sendable {
  private(set) var tiles: Set<Tile> = []

  /// Shows these tiles, some of which have new content. Returns `nil` if nothing changed.
  mutating func show(_ shown: Set<Tile>, changed: Set<Tile>) -> TileChange? {
    let change = TileChange(
      added: shown.subtracting(tiles), updated: changed.intersection(shown).intersection(tiles),
      removed: tiles.subtracting(shown))
    tiles = shown
    return change.isEmpty ? nil : change
  }
}

/// The wait before the next attempt while the tile of the position isn't available.
///
/// It doubles each time up to a limit. A random part of up to half is subtracted, so that devices don't return at once.
struct RetryDelay: Sendable {
  static let first: Double = 10
  static let longest: Double = 600
  private var attempts = 0

  mutating func next(using generator: inout some RandomNumberGenerator) -> Duration {
    let whole = min(Self.first * Double(1 << min(attempts, 10)), Self.longest)
    attempts += 1
    return .seconds(whole * Double.random(in: 0.5...1, using: &generator))
  }

  mutating func reset() { attempts = 0 }
}
