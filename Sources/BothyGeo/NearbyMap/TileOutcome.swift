/// The outcome of one requested tile.
package enum TileOutcome: Sendable {
  /// The tile has new bytes. `isNew` is true if it had none before.
  case loaded(isNew: Bool)
  /// The server confirmed the tile or sent the same bytes.
  case unchanged
  /// The server doesn't have the tile.
  case absent
  /// The request failed with an error. An old version stays.
  case failed(any Error)
}
