import BothyCache
import BothyStore
import BothyTestSupport
import Foundation
import HTTPTypes
import Testing

/// The stores that pass these tests.
enum StoreKind: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case files
  case sqlite

  var testDescription: String { rawValue }

  func open(_ folder: TemporaryFolder, _ options: DiskCache.Options = DiskCache.Options()) throws
    -> any DiskCache.Store
  {
    switch self {
    case .files: try DiskStore(folder: folder.path + "/store", options: options)
    case .sqlite: try DiskStore(path: folder.path + "/store/cache.sqlite", options: options)
    }
  }

  func open(_ folder: TemporaryFolder, limits: DiskCache.Limits) throws -> any DiskCache.Store {
    try open(folder, DiskCache.Options(limits: limits))
  }

  /// Returns the path of the store's database file.
  func index(in folder: TemporaryFolder) -> String {
    folder.path + (self == .files ? "/store/index.sqlite" : "/store/cache.sqlite")
  }
}

extension TemporaryFolder {
  /// Returns the paths of all regular files below, relative to the folder, with their sizes.
  func files() throws -> [String: Int] {
    var files: [String: Int] = [:]
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      let attributes = try FileManager.default.attributesOfItem(atPath: path + "/" + name)
      if attributes[.type] as? FileAttributeType == .typeRegular { files[name] = attributes[.size] as? Int }
    }
    return files
  }

  /// Returns the space of the folder on disk in blocks and folders, as `du` counts it. A folder in memory has no block, and
  /// counts as one.
  func diskUse() throws -> Int64 {
    var bytes: Int64 = 0
    for name in try FileManager.default.subpathsOfDirectory(atPath: path) {
      var status = stat()
      guard lstat(path + "/" + name, &status) == 0 else { continue }
      let isFolder = status.st_mode & S_IFMT == S_IFDIR
      bytes += max(Int64(status.st_blocks) * 512, isFolder ? 4096 : 0)
    }
    return bytes
  }
}

/// Returns an entry of `size` bytes that follow from `seed`.
func makeEntry(_ seed: Int, size: Int = 1000, at time: Int64 = 1_700_000_000_000) -> CacheEntry {
  var state = UInt64(truncatingIfNeeded: seed) &* 0x9E37_79B9_7F4A_7C15 | 1
  var bytes = [UInt8](repeating: 0, count: size)
  for place in bytes.indices {
    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
    bytes[place] = UInt8(truncatingIfNeeded: state >> 56)
  }
  return CacheEntry(
    metadata: EntryMetadata(
      status: 200, fields: [.eTag: "\"\(seed)\"", .contentType: "image/png"], requestedAt: time - 40,
      receivedAt: time, validatedAt: time,
      freshness: FreshnessMetadata(lifetime: 604_800_000, origin: .maxAge)),
    body: Data(bytes))
}

func tile(_ number: Int, _ source: SourceID = "osm") -> ResourceKey {
  ResourceKey(source, zoom: 16, x: number / 256, y: number % 256)
}

extension DiskCache.Store {
  func store(_ key: ResourceKey, _ entry: CacheEntry) throws -> DiskCache.Report { try store([(key, entry)]) }

  /// Returns the sum over all sources.
  func total() throws -> ResourceCache.Totals {
    try totals().values.reduce(into: ResourceCache.Totals()) { sum, one in
      sum.count += one.count
      sum.bytes += one.bytes
      sum.pinnedCount += one.pinnedCount
      sum.pinnedBytes += one.pinnedBytes
    }
  }
}
