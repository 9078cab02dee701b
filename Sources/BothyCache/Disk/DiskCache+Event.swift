extension DiskCache {
  /// A damage that a store found and reports to its owner.
  package enum Event: Sendable, Hashable {
    /// The entry's bytes did not match their checksum. They are quarantined, and the next look-up finds nothing.
    case damaged(ResourceKey)
    /// The file wasn't a usable database of this store. It was renamed to `movedTo` and recreated.
    ///
    /// Entries in files of their own are found again. Entries in rows and pins are copied as far as the old file is
    /// readable. The next garbage collection deletes the renamed file. That of a newer version is deleted at once if all
    /// of it was copied. Otherwise it stays for 30 days, which a second event says.
    case recreated(file: String, movedTo: String, reason: String)
  }
}
