public import Foundation

/// A tile of places as it came: its bytes, and what is known of their age and version.
public struct PlaceTile: Sendable, Hashable {
  /// Which tile it is.
  public let tile: Tile
  /// When the bytes came, in milliseconds since 1970.
  public var receivedAt: Int64
  /// When the server last said that the bytes are the current ones, in milliseconds since 1970.
  public var validatedAt: Int64
  /// The validators that the server sent; nil where it sent none.
  public var entityTag: String?
  /// The `Last-Modified` that the server sent; nil where it sent none.
  public var lastModified: String?
  /// The bytes as the server sent them: GeoJSON.
  public var payload: Data

  /// Validated when it came, unless told otherwise.
  public init(
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

  /// How long a tile is taken to be current unless an app says otherwise: a week.
  public static let defaultLifetime: Int64 = 7 * 24 * 3600 * 1000

  /// Whether the tile was validated less than a lifetime, in milliseconds, ago. Computed when asked, so that another
  /// lifetime counts for tiles already there. One that was validated in the future, before the clock was put back, is
  /// not fresh.
  public func isFresh(at now: Int64, lifetime: Int64 = defaultLifetime) -> Bool {
    Self.isFresh(validatedAt: validatedAt, at: now, lifetime: lifetime)
  }

  static func isFresh(validatedAt: Int64, at now: Int64, lifetime: Int64) -> Bool {
    let (age, overflow) = now.subtractingReportingOverflow(validatedAt)
    return !overflow && age >= 0 && age < lifetime
  }
}

/// What became of a tile that was handed to the places.
public enum PlaceTileChange: Sendable, Hashable {
  /// The tile was not held before.
  case added
  /// The tile was held with other bytes.
  case updated
  /// The same bytes as before: only the validators and times were renewed.
  case unchanged
  /// Older than what is held, so not taken.
  case outdated
  /// From before the places were cleared, so not taken.
  case discarded
}
