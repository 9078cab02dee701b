public import Foundation

/// The cache's entry for one resource: the bytes and their metadata.
///
/// A value, which shares its bytes when it is copied.
public struct CacheEntry: Sendable, Hashable {
  /// The status, the stored fields, the times, and the values computed from them.
  public var metadata: EntryMetadata
  /// The bytes without content coding, empty in negative entries.
  ///
  /// A store may pack them, and returns them unpacked.
  public var body: Data

  /// Creates an entry from known parts, for importers, bundles and tests that fill a store without a server.
  ///
  /// ```swift
  /// let now = Int64(Date().timeIntervalSince1970 * 1000)
  /// let entry = CacheEntry(metadata: EntryMetadata(receivedAt: now), body: jpeg)
  /// let files = try DiskCache.folder(folder).open()
  /// try files.store([(key: try api.key(path: "hut.jpeg"), entry: entry)])
  /// ```
  public init(metadata: EntryMetadata, body: Data) {
    self.metadata = metadata
    self.body = body
  }
}
