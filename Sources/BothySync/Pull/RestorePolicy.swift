/// What a sync does when the server was restored or emptied, and lacks what it had acknowledged.
public enum RestorePolicy: String, Sendable, Hashable, CaseIterable {
  /// Nothing is removed and nothing is sent until somebody decides: the sync ends with `SkipReason.otherServer`. The
  /// default.
  case ask
  /// What the server lacks, or has as it was before, is given back to it, as `SyncedStore.uploadMine` does. Several
  /// devices may do so: one of them makes the record, the others find it there.
  case giveBack
  /// What the server has takes the place of what is here, as by `SyncedStore.adoptServer`.
  case adopt
}
