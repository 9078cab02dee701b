internal import BothyStore
internal import Foundation

/// A store that keeps each entry in a file of its own: `{folder}/tiledb/{source}/{path}`.
///
/// A hit takes one open, one read and one close. Other programs can open the files, because the bytes come first. An
/// index beside them (`index.sqlite`) has sizes, uses and pins. If it is lost, it is recreated from the files, with the
/// pins as far as they are readable. The disk rounds each file up to a block of 4 KB, which is counted.
public final class FileBlobStore: BlobStore {
  private let engine: IndexedStore

  /// Opens the store in `folder`. Creates the folder if needed. The store must be its only user.
  ///
  /// The cost does not depend on the number of entries, unless the limits are lower than before or the index is lost.
  /// Throws `BothyError`.
  public init(folder: String, options: BlobStoreOptions = BlobStoreOptions()) throws {
    try PrivateFolder.make(folder + "/tiledb")
    try CacheFolder.mark(folder)
    engine = try IndexedStore(
      folder: folder, indexPath: folder + "/index.sqlite", lockPath: folder + "/lock", largestRow: nil,
      pageSize: 4096, options: options)
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
}
