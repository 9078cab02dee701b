internal import BothyStore
internal import Foundation

/// A store that keeps entries in one SQLite file, and those of more than 96 KB in files beside it (`{path}-large`).
///
/// A hit takes one look-up by number. Equal small bodies are stored once, but each entry counts its own bytes. A
/// damaged database is quarantined and recreated.
public final class SQLiteBlobStore: BlobStore {
  /// The largest body in a row. A few larger ones fill the log, and files are read equally fast.
  static let largestRow = 96 << 10

  private let engine: IndexedStore

  /// Opens or creates the database at `path`. Creates the folder if needed.
  ///
  /// The cost does not depend on the number of entries, unless the limits are lower than before. Throws `BothyError`.
  public convenience init(path: String, options: BlobStoreOptions = BlobStoreOptions()) throws {
    try self.init(path: path, options: options, pageSize: 8192)
  }

  package init(path: String, options: BlobStoreOptions, pageSize: Int) throws {
    let folder = (path as NSString).deletingLastPathComponent
    if !folder.isEmpty { try PrivateFolder.make(folder) }
    engine = try IndexedStore(
      folder: path + "-large", indexPath: path, lockPath: path + "-lock", largestRow: Self.largestRow,
      pageSize: pageSize, options: options)
    CacheFolder.exclude(path)
  }

  public func entry(_ key: ResourceKey) throws -> CacheEntry? { try engine.entry(key) }
  public func metadata(_ key: ResourceKey) throws -> EntryMetadata? { try engine.metadata(key) }
  @discardableResult
  public func store(_ entries: [(key: ResourceKey, entry: CacheEntry)]) throws -> StoreReport {
    try engine.store(entries)
  }
  public func update(_ key: ResourceKey, _ metadata: EntryMetadata) throws -> Bool {
    try engine.update(key, metadata)
  }
  public func touch(_ uses: [(key: ResourceKey, at: Int64)]) throws { try engine.touch(uses) }
  public func remove(_ keys: [ResourceKey]) throws { try engine.remove(keys) }
  public func removeAll(_ source: SourceID?) throws { try engine.removeAll(source) }
  public func remove(receivedBefore time: Int64, _ source: SourceID?) throws {
    try engine.remove(receivedBefore: time, source)
  }
  public func pin(_ keys: [ResourceKey], by holder: String) throws { try engine.pin(keys, by: holder) }
  public func unpin(_ keys: [ResourceKey]?, by holder: String) throws { try engine.unpin(keys, by: holder) }
  public func isPinned(_ key: ResourceKey) throws -> Bool { try engine.isPinned(key) }
  public func totals(heldBy holder: String) throws -> StoreTotals { try engine.totals(heldBy: holder) }
  public func pinCount(by holder: String) throws -> Int { try engine.pinCount(by: holder) }
  public func forEachPin(by holder: String?, _ body: (StoredPin) throws -> Void) throws {
    try engine.forEachPin(by: holder, body)
  }
  @discardableResult
  public func apply(_ limits: BlobStoreLimits) throws -> [ResourceKey] { try engine.apply(limits) }
  public func totals() throws -> [SourceID: StoreTotals] { try engine.totals() }
  public func forEach(_ source: SourceID?, _ body: (ResourceKey, EntryMetadata, StoredSize) throws -> Void)
    throws
  {
    try engine.forEach(source, body)
  }
  public func verify(progress: (Int) -> Void) throws -> VerifyReport { try engine.verify(progress: progress) }
  public func collectGarbage() throws -> GarbageReport { try engine.collectGarbage() }
  public func close() throws { try engine.close() }

  /// Writes all entries into a new file at `path`, which can ship with an app. See `BundledFile`.
  ///
  /// Copies everything, while other calls continue.
  public func export(to path: String) throws { try engine.export(to: path) }
}
