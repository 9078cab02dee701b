import BothyCache
import BothyGeo
import BothyStore
import Foundation
import HTTPTypes

/// The calls that have another name in earlier versions, in the words of this one. `Benchmarks/Beside` has the earlier
/// ones.
enum Calls {
  /// Opens a store of `files`, or of one SQLite file.
  static func open(_ kind: String, _ folder: String) throws -> any DiskCache.Store {
    let folder = URL(filePath: folder)
    let tier = kind == "files" ? DiskCache.folder(folder) : .sqliteFile(in: folder)
    return try tier.open(limits: DiskCache.Limits(bytes: nil))
  }

  /// Returns the metadata of a tile that is fresh for a week.
  static func metadata(_ fields: HTTPFields, at time: Int64) -> EntryMetadata {
    EntryMetadata(fields: fields, receivedAt: time)
  }

  /// Brings a tile into memory.
  static func load(_ key: ResourceKey, into cache: ResourceCache) async throws {
    _ = try await cache.value(key, policy: .local)
  }

  /// Copies the tiles of an archive, and returns their number.
  static func copy(
    _ archive: any TileArchive, into store: any DiskCache.Store, at time: Timestamp
  ) async throws -> Int {
    let source = try ResourceSource(
      Entries.source, template: "https://tile.example/{z}/{x}/{y}.png", userAgent: "bench")
    return try await archive.copy(into: store, as: source, at: time).written
  }
}
