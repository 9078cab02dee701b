import BothyCache

extension RegionRun {
  /// The reason why a run ends before the last tile.
  enum Stop: Sendable {
    case paused
    /// The archive of the source was replaced, so the tiles are of two versions.
    case replaced
    case interrupted(BothyError)
  }
}
