extension NearbyMap {
  /// The connectivity of an app, as `NearbyMap.connectivities` reports it.
  ///
  /// An app is offline at once, and online only after three seconds without a failure, so that a banner doesn't flicker.
  public enum Connectivity: Sendable, Hashable {
    /// The network and the tile of the position are available. A map begins in this state.
    case online
    /// Both are available again, but not yet for long enough: three seconds. A failure meanwhile leads back to
    /// `offline`.
    case enteringOnline
    /// The network or the tile of the position isn't available. Stored places can still be queried.
    case offline
  }
}
