/// How the tiles around the position differ from those before.
public struct SpatialChange: Sendable, Hashable {
  /// Held now, and not before.
  public var added: Set<Tile> = []
  /// There before too, with other content.
  public var updated: Set<Tile> = []
  /// Around the position no more, or no longer held.
  public var removed: Set<Tile> = []

  /// A change of nothing, unless told otherwise.
  public init(added: Set<Tile> = [], updated: Set<Tile> = [], removed: Set<Tile> = []) {
    self.added = added
    self.updated = updated
    self.removed = removed
  }

  /// Whether nothing differs; an atlas never sends such a one.
  public var isEmpty: Bool { added.isEmpty && updated.isEmpty && removed.isEmpty }
}

/// Remembers which tiles are shown, and says what changes when others are.
struct ShownTiles: Sendable {
  private(set) var tiles: Set<Tile> = []

  /// Shows these tiles, some of which have other content than before. Nil when nothing changed.
  mutating func show(_ shown: Set<Tile>, changed: Set<Tile>) -> SpatialChange? {
    let change = SpatialChange(
      added: shown.subtracting(tiles), updated: changed.intersection(shown).intersection(tiles),
      removed: tiles.subtracting(shown))
    tiles = shown
    return change.isEmpty ? nil : change
  }
}

/// How long to wait before the next attempt while the tile of the position can't be had: twice as long each time, up to a
/// limit, and by chance between half of that and all of it, so that devices don't return at once.
struct RecoveryDelay: Sendable {
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
