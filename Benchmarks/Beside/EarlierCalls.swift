import BothyCache
import BothyGeo
import BothyStore
import Foundation
import HTTPTypes

/// The calls of `Sources/BesideDriver/Calls.swift` in the words of versions that have a type for each kind of store.
enum Calls {
  /// Opens a store of `files`, or of one SQLite file.
  static func open(_ kind: String, _ folder: String) throws -> any BlobStore {
    let options = BlobStoreOptions(limits: BlobStoreLimits(bytes: nil))
    if kind == "files" { return try FileBlobStore(folder: folder, options: options) }
    return try SQLiteBlobStore(path: folder + "/cache.sqlite", options: options)
  }

  /// Returns the metadata of a tile that is fresh for a week.
  static func metadata(_ fields: HTTPFields, at time: Int64) -> EntryMetadata {
    EntryMetadata(
      status: 200, fields: fields, requestedAt: time, receivedAt: time, validatedAt: time,
      freshness: FreshnessTerms(lifetime: 604_800_000, origin: .maxAge))
  }

  /// Brings a tile into memory.
  static func load(_ key: ResourceKey, into cache: ResourceCache) async throws {
    _ = try await cache.value(key, mode: .cacheOnly)
  }

  /// Copies the tiles of an archive, and returns their number.
  static func copy(
    _ archive: any TileArchive, into store: any DiskCache.Store, at time: Timestamp
  ) async throws -> Int {
    try await archive.copy(into: store, as: Entries.source, at: time).written
  }
}

/// The names that this version has for stores, for the rest of the driver.
enum DiskCache {
  typealias Store = BlobStore
  typealias Reader = BlobReader
}
