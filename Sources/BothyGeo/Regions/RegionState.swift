/// The state of a region.
///
/// Regions that are `complete` or `outdated` have all tiles on the disk. Of the others, some may be missing. All of
/// them can be resumed.
public enum RegionState: String, Sendable, Hashable, CaseIterable {
  /// Created, but not loaded yet.
  case waiting
  /// Being loaded, in this process or another. A second `resume` throws `BothyError` `regionBusy`.
  case loading
  /// Stopped by the user with `pause`. It stays so until it is resumed, also after a restart.
  case paused
  /// Stopped before it was ever complete: by the network, a full disk, or the end of the process. Received tiles stay.
  case interrupted
  /// Finished, but some tiles failed. They are tried again when the region is resumed.
  case partial
  /// Complete on the disk. Tiles that don't exist, according to the server, count as stored. So do those that came with
  /// the app, if the source's tiles never change. If no tile of a source exists, the region's reason says so.
  case complete
  /// Complete on the disk, but its last refresh was interrupted, or some tiles of it failed. Readers receive the older
  /// tiles. Resuming the region continues the refresh.
  ///
  /// The refresh of another region may also have brought another version of its style. Resuming the region then loads
  /// what that needs.
  case outdated
  /// Once complete, but tiles have been lost from the disk, by damage or because the cache was deleted. Resuming the
  /// region loads them again.
  case damaged
}
