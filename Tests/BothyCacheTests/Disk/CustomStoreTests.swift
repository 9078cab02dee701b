import BothyCache
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Parts that an app brings itself", .timeLimit(.minutes(5)))
struct CustomStoreTests {
  /// Promises: R-9
  @Test("Metadata survives its encoded form, and damage is noticed")
  func metadata() throws {
    var metadata = makeEntry(7).metadata
    metadata.variedOn = [VariedField(name: "accept", value: nil), VariedField(name: "origin", value: "x")]
    metadata.expiresAt = 1_800_000_000_000
    let encoded = metadata.encoded
    #expect(EntryMetadata(encoded: encoded) == metadata)
    for place in encoded.indices {
      var damaged = encoded
      damaged[place] ^= 0x10
      #expect(EntryMetadata(encoded: damaged) == nil, "byte \(place)")
    }
    #expect(EntryMetadata(encoded: Data()) == nil)
  }

  @Test("Keys of paths, tiles and variants survive JSON")
  func keys() throws {
    let keys = [ResourceKey("api", path: "a/b?c=1"), tile(300), tile(300).of(variant: 3)]
    let decoded = try JSONDecoder().decode([ResourceKey].self, from: JSONEncoder().encode(keys))
    #expect(decoded == keys && Set(decoded).count == 3)
  }

  @Test("Known metadata takes its lifetime from the fields")
  func lifetime() {
    let metadata = EntryMetadata(fields: [.cacheControl: "max-age=60"], receivedAt: 5000)
    #expect(EntryState(of: metadata, under: .http, at: 64_999).isFresh)
    #expect(!EntryState(of: metadata, under: .http, at: 65_000).isFresh)
    #expect(metadata.status == 200 && metadata.validatedAt == 5000)
  }

  @Test("A custom store gets the limits, and its damage becomes an event")
  func damage() async throws {
    let store = StoreDouble()
    let received = Locked<DiskCache.Limits?>(nil)
    let report = Locked<(@Sendable (ResourceKey) -> Void)?>(nil)
    let tier = DiskCache { limits, damaged in
      received.change { $0 = limits }
      report.change { $0 = damaged }
      return store
    }
    let cache = try ResourceCache(settings: CacheSettings(disk: DiskCache.Limits(bytes: 1000)), disk: tier)
    let listener = Listener(cache.events)
    report.value?(tile(1))
    #expect(received.value?.bytes == 1000 && cache.counters["osm"]?.corrupt == 1)
    #expect(try await listener.events(of: cache) == [.corrupt(tile(1))])
  }

  @Test(
    "Errors of a custom loader keep their kind",
    arguments: [
      (BothyError.Code.timedOut, BothyError.Code.timedOut), (.refused, .refused),
      (.unreachable, .unreachable),
      (.storage, .unreachable),
    ])
  func loaderErrors(_ thrown: BothyError.Code, _ seen: BothyError.Code) async throws {
    var limits = SourceLimits()
    limits.attempts = 1
    let source = try ResourceSource(
      "api", template: "https://api.example/", userAgent: "Tests/1", limits: limits)
    let cache = try ResourceCache(
      sources: [source], loader: FailingLoader(error: BothyError(thrown, "No answer.")),
      clock: LoadClock(VirtualClock()))
    let key = try source.key(path: "a")
    await #expect { try await cache.value(key) } throws: { ($0 as? BothyError)?.code == seen }
  }

  /// Promises: R-13
  @Test(
    "A cache of either kind is exported to one file, which another cache reads", arguments: [true, false])
  func export(_ isFiles: Bool) async throws {
    let folder = try TemporaryFolder()
    let place = URL(filePath: folder.path + "/cache")
    let tier = isFiles ? DiskCache.folder(place) : DiskCache.sqliteFile(in: place)
    let entries = (0..<10).map { (key: tile($0), entry: makeEntry($0, size: $0 == 5 ? 150_000 : 2000)) }
    let store = try tier.open()
    try store.store(entries)
    try store.close()
    let cache = try ResourceCache(disk: tier)
    let file = URL(filePath: folder.path + "/shipped.sqlite")
    try await cache.export(to: file)
    await #expect(throws: BothyError.self) { try await cache.export(to: file) }
    try await cache.close()
    let bundle = try BundledResources.file(file.path)
    for (key, entry) in entries { #expect(try bundle.entry(key) == entry) }
  }

  @Test("Reads don't wait for an export")
  func readsDuringExport() async throws {
    let folder = try TemporaryFolder()
    let path = folder.file("cache.sqlite")
    let tier = DiskCache { options in
      var options = options
      options.busyTimeout = .seconds(200)
      return try DiskStore(path: path, options: options)
    }
    let store = try tier.open()
    try store.store([(key: tile(1), entry: makeEntry(1))])
    try store.close()
    let cache = try ResourceCache(disk: tier)
    // The export waits for this writer, as for one of another process. A read behind it has its timeout.
    let lock = try #require(FileHandle(forUpdatingAtPath: path + "-lock"))
    let isLocked = flock(lock.fileDescriptor, LOCK_EX) == 0
    #expect(isLocked)
    let file = folder.url("shipped.sqlite")
    let export = Task { try await cache.export(to: file) }
    for _ in 0..<100 {
      let found = try await cache.stored([tile(1)])
      #expect(found[0] != nil)
      await Task.yield()
    }
    try lock.close()
    try await export.value
    try await cache.close()
  }
}

/// A loader as an app writes it: its errors are `BothyError`s.
private struct FailingLoader: ResourceLoader {
  let error: BothyError

  func load(_ request: ResourceRequest) async throws -> ResourceResponse { throw error }
}
