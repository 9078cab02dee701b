package import Foundation

/// A tile of places as received: its bytes, its times and its validators.
package struct PlaceTile: Sendable, Hashable {
  /// The tile.
  package let tile: Tile
  /// The time when the bytes came, in milliseconds since 1970.
  package var receivedAt: Int64
  /// The time when the server last confirmed the bytes, in milliseconds since 1970.
  package var validatedAt: Int64
  /// The `ETag` that the server sent, or `nil`.
  package var entityTag: String?
  /// The `Last-Modified` that the server sent, or `nil`.
  package var lastModified: String?
  /// The bytes as the server sent them: GeoJSON or a vector tile, unpacked or packed with gzip.
  package var payload: Data
  /// True if the cache has the bytes, so that the places needn't. The payload of such a stored tile is empty.
  package var isCached = false

  /// Creates a tile, by default validated when it was received.
  package init(
    _ tile: Tile, payload: Data, receivedAt: Int64, validatedAt: Int64? = nil, entityTag: String? = nil,
    lastModified: String? = nil
  ) {
    self.tile = tile
    self.payload = payload
    self.receivedAt = receivedAt
    self.validatedAt = validatedAt ?? receivedAt
    self.entityTag = entityTag
    self.lastModified = lastModified
  }

  /// A time before all others: that of a tile whose features were derived with other categories or another parser.
  package static let never = Int64.min

  /// The default age up to which a tile is fresh: a week.
  package static let defaultLifetime: Int64 = 7 * 24 * 3600 * 1000

  /// Returns true if the tile was validated less than a lifetime ago, in milliseconds.
  ///
  /// It is computed at each call, so that another lifetime applies to stored tiles. A tile that was validated in the
  /// future, before the clock was set back, isn't fresh.
  package func isFresh(at now: Int64, lifetime: Int64 = defaultLifetime) -> Bool {
    Self.isFresh(validatedAt: validatedAt, at: now, lifetime: lifetime)
  }

  /// Returns true if a tile was validated less than a lifetime before `now`, all in milliseconds.
  package static func isFresh(validatedAt: Int64, at now: Int64, lifetime: Int64) -> Bool {
    let (age, overflow) = now.subtractingReportingOverflow(validatedAt)
    return !overflow && age >= 0 && age < lifetime
  }
}

/// The outcome of passing a tile to the places.
package enum PlaceTileChange: Sendable, Hashable {
  /// The tile is new.
  case added
  /// The tile existed with other bytes.
  case updated
  /// The bytes didn't change. Only the validators and times were updated.
  case unchanged
  /// The tile is older than the stored one and was ignored.
  case outdated
  /// The tile is from before the places were cleared and was ignored.
  case discarded
}
