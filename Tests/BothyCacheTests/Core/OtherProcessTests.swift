import BothyCache
import BothyStore
import BothyTestSupport
import BothyTesting
import Foundation
import HTTPTypes
import Testing

@Suite("Memory beside another process", .timeLimit(.minutes(5)))
struct OtherProcessTests {
  private let folder: TemporaryFolder
  private let time = VirtualTime()
  private let version = Locked(1)
  private let source: ResourceSource

  init() throws {
    folder = try TemporaryFolder()
    source = try CacheRig.source("tiles")
  }

  /// Returns a cache on the folder, as each process has one.
  private func open(_ kind: StoreKind) throws -> ResourceCache {
    let (store, version) = (try kind.open(folder), version)
    return try ResourceCache(
      sources: [source], disk: DiskCache { _ in store },
      loader: ScriptedLoader { _ in .init(200, "version \(version.value)") },
      clock: LoadClock(VirtualClock(), wall: time.reader()))
  }

  private func tile(_ x: Int) throws -> ResourceKey { try source.key(zoom: 16, x: x, y: 2) }

  @Test("An entry that another process replaces is read from the disk again", arguments: StoreKind.allCases)
  func replaced(_ kind: StoreKind) async throws {
    let (mine, other) = (try open(kind), try open(kind))
    let (a, b, c) = (try tile(1), try tile(2), try tile(3))
    for key in [a, b] {
      _ = try await mine.value(key)
      #expect(text(try await other.value(key)) == "version 1")
    }
    _ = try await mine.value(c)
    #expect(other.peek(a) != nil && other.peek(b) != nil, "a new entry changes none of these")
    version.value = 2
    _ = try await mine.value(a, policy: .remote)
    #expect(text(mine.peek(a)) == "version 2" && mine.peek(b) != nil, "its own memory has the new entry")
    #expect(other.peek(a) == nil)
    #expect(text(try await other.value(a, policy: .local)) == "version 2")
    #expect(text(try await other.value(b, policy: .local)) == "version 1")
    #expect(text(other.peek(a)) == "version 2")
  }

  @Test("An entry that another process removes leaves memory", arguments: StoreKind.allCases, [true, false])
  func removed(_ kind: StoreKind, isAll: Bool) async throws {
    let (mine, other) = (try open(kind), try open(kind))
    let key = try tile(1)
    _ = try await mine.value(key)
    #expect(text(try await other.value(key)) == "version 1")
    try await isAll ? mine.removeAll() : mine.remove(key)
    #expect(other.peek(key) == nil)
    let error = await #expect(throws: BothyError.self) { try await other.value(key, policy: .local) }
    #expect(error?.code == .notCached)
  }
}
