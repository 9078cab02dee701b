internal import Foundation

/// Stored tiles near another one, which show what their source has.
extension ResourceCache {
  /// Returns a stored tile above or beside a tile, or `nil` if there is none. Costs up to five look-ups.
  func storedNeighbor(of key: ResourceKey) async -> StoredEntry? {
    let places = key.neighbors
    for place in places {
      if let stored = memory.look(place), Self.hasContent(stored.entry) { return stored }
    }
    // A disk that fails here shows no tile.
    let entry = try? await disk?.read { store -> CacheEntry? in
      for place in places {
        if let entry = try store.entry(place), Self.hasContent(entry) { return entry }
      }
      return nil
    }
    return entry.map { StoredEntry($0) }
  }

  private static func hasContent(_ entry: CacheEntry) -> Bool {
    !AnswerKind.isNegative(entry.metadata.status) && !entry.body.isEmpty
  }
}

extension ResourceKey {
  private static let lastZoom = 29

  /// The tile of the zoom above, then those to the sides. Columns wrap around the world.
  fileprivate var neighbors: [ResourceKey] {
    guard case .tile(let bits) = name else { return [] }
    let numbers = Self.tile(of: bits)
    let (zoom, x, y) = (Int(numbers.zoom), Int(numbers.x), Int(numbers.y))
    guard zoom <= Self.lastZoom else { return [] }
    let side = 1 << zoom
    let above = zoom > 0 ? [ResourceKey(source, zoom: zoom - 1, x: x / 2, y: y / 2)] : []
    let beside = [(x + 1, y), (x + side - 1, y), (x, y + 1), (x, y - 1)].filter { (0..<side).contains($0.1) }
    return above + beside.map { ResourceKey(source, zoom: zoom, x: $0.0 % side, y: $0.1) }
  }
}
