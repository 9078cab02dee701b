/// What must stay: entries that a holder wants kept, whatever the limits say.
extension ResourceCache {
  /// Keeps the resources on disk for the holder, stored already or not; they do not count against the limits.
  public func pin(_ keys: [ResourceKey], by holder: String) async throws {
    try await disk?.write { try $0.pin(keys, by: holder) }
  }

  /// Takes back what the holder wanted kept, all of it for nil; the limits hold again when this returns.
  public func unpin(_ keys: [ResourceKey]? = nil, by holder: String) async throws {
    try await disk?.write { try $0.unpin(keys, by: holder) }
  }

  /// Sets other limits for the disk; they hold when this returns.
  public func setDiskLimits(_ limits: BlobStoreLimits) async throws {
    guard let disk else { return }
    noteEvictedFromDisk(try await disk.write { try $0.apply(limits) })
  }
}
