import Bars
import BothyCache
import Foundation
import HTTPTypes

/// The tiles of hits: 15 KB of bytes that can't be compressed, with the fields that map servers send.
///
/// A value is the tiles that an app ships, as a cache finds them.
struct Entries: DiskCache.Reader {
  static let size = 15_360
  static let source: SourceID = "osm"
  /// A moment after the tiles were stored.
  static let now: Int64 = 1_700_000_001_000

  static func key(_ number: Int) -> ResourceKey {
    ResourceKey(source, zoom: 16, x: number / 256, y: number % 256)
  }

  static func entry(_ number: Int) -> CacheEntry {
    let fields: HTTPFields = [
      .eTag: "\"5e1f-\(number)\"", .contentType: "image/png", .cacheControl: "max-age=604800",
      .date: "Tue, 14 Nov 2023 22:13:20 GMT", .lastModified: "Mon, 13 Nov 2023 10:00:00 GMT",
      .server: "nginx",
    ]
    return CacheEntry(
      metadata: Calls.metadata(fields, at: now - 1000), body: Noise.bytes(number, size: size))
  }

  func entry(_ key: ResourceKey) throws -> CacheEntry? { Self.entry(0) }
  func metadata(_ key: ResourceKey) throws -> EntryMetadata? { Self.entry(0).metadata }
}
