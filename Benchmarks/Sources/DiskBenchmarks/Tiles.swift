import Bars
import BothyCache
import Foundation
import HTTPTypes

/// The tiles that all runs store: 15 KB of incompressible bytes, with the fields that map servers send.
enum Tiles {
  static let size = 15_360
  static let source: SourceID = "osm"

  /// The source itself, for imports.
  static var described: ResourceSource {
    get throws {
      try ResourceSource(source, template: "https://tile.example/{z}/{x}/{y}.png", userAgent: "bench")
    }
  }

  /// A moment after the tiles were stored.
  static let now: Int64 = 1_700_000_001_000
  /// The milliseconds for which the tiles are fresh, as their fields say.
  static let lifetime: Int64 = 604_800_000

  static func key(_ number: Int) -> ResourceKey {
    ResourceKey(source, zoom: 16, x: number / 256, y: number % 256)
  }

  static func body(_ number: Int, size: Int = size) -> Data { Noise.bytes(number, size: size) }

  /// The metadata of a tile, whose dates are parsed once.
  private static let metadata = EntryMetadata(fields: fields(0), receivedAt: now - 1000)

  private static func fields(_ number: Int) -> HTTPFields {
    [
      .eTag: "\"5e1f-\(number)\"", .contentType: "image/png", .cacheControl: "max-age=604800",
      .date: "Tue, 14 Nov 2023 22:13:20 GMT", .lastModified: "Mon, 13 Nov 2023 10:00:00 GMT",
      .server: "nginx",
    ]
  }

  static func entry(_ number: Int, size: Int = size) -> CacheEntry {
    var metadata = metadata
    metadata.fields = fields(number)
    return CacheEntry(metadata: metadata, body: body(number, size: size))
  }
}

/// Tiles that an app ships, as a run's cache finds them. They are made on request.
struct Shelf: DiskCache.Reader {
  let size: Int
  func entry(_ key: ResourceKey) throws -> CacheEntry? { Tiles.entry(0, size: size) }
  func metadata(_ key: ResourceKey) throws -> EntryMetadata? { Tiles.entry(0, size: size).metadata }
}
