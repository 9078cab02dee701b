extension SyncOptions {
  /// The treatment of a server that was restored or emptied, and lacks content that it had acknowledged.
  package enum RestorePolicy: String, Sendable, Hashable, CaseIterable {
    /// Removes and sends nothing until a decision is made. The sync ends with `SyncObstacle.otherServer`. The default.
    case ask
    /// Returns content to the server that it lacks, or has in an older version, as `maintenance.uploadMine` does. Several
    /// devices may do so. One of them creates the record, and the others find it there.
    case giveBack
    /// Replaces the local content by the server's, as `maintenance.adoptServer` does.
    case adopt
  }
}
