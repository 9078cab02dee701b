import BothyCache
import BothyGeo
import BothyStore
import BothyTestSupport
import BothyTesting
import Dispatch
import Foundation
import HTTPTypes
import Synchronization
import Testing

@Suite("Downloads of archives", .timeLimit(.minutes(5)))
struct ArchiveDownloadTests {
  private let scratch: TemporaryFolder
  private let path: String

  init() throws {
    scratch = try TemporaryFolder()
    path = scratch.file("a.pmtiles")
  }

  private func download(_ server: ArchiveServer, partSize: UInt64 = 1000) async throws -> TileArchiveInfo {
    var order = FetchOrder(["https://maps.test/a.pmtiles"])
    order.requiresUserAgent = false
    order.retry = .once
    return try await ArchiveDownload(order, Fetcher(server), to: path, partSize: partSize).perform { _ in }
  }

  private func content(_ tile: Tile) async throws -> String? {
    try await TileArchives.open(path: path).content(of: tile).map { RegionServer.text($0) }
  }

  /// The names of the files beside the archive.
  private var names: Set<String> { Set(scratch.names(in: scratch.path)) }

  @Test("An archive comes whole, is confirmed by one byte, and replaced when it changes")
  func whole() async throws {
    let tiles = try MadeArchive.tiles(0..<341)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let seen = Locked<[ResourceCache.Progress]>([])
    let info = try await TileArchives.download(
      url: "https://maps.test/a.pmtiles", to: path, loader: server, userAgent: "Tests/1"
    ) { progress in seen.change { $0.append(progress) } }
    #expect(info.name == "Made" && server.agents == ["Tests/1"])
    #expect(seen.value.last?.received == seen.value.last?.expected && seen.value.count == 1)
    #expect(names == ["a.pmtiles", "a.pmtiles.version"])
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile)) }
    server.forget()
    _ = try await download(server)
    #expect(server.requests == [0..<1])
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: "\"2\"")
    _ = try await download(server)
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile, "2")) }
  }

  @Test("A download loses a megabyte at most when the link breaks")
  func parts() async throws {
    // Bytes after the tiles belong to none of them.
    let file = try MadeArchive.data(MadeArchive.tiles(0..<5)) + Data(count: 5 << 19)
    let server = ArchiveServer(file)
    try await TileArchives.download(url: "https://maps.test/a.pmtiles", to: path, loader: server)
    let megabyte = 1 << 20
    #expect(server.requests == [0..<megabyte, megabyte..<2 * megabyte, 2 * megabyte..<file.count])
  }

  @Test(
    "A download that was interrupted anywhere goes on where it was",
    arguments: RandomRuns.seeds(8, from: 1))
  func resumed(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let tiles = try MadeArchive.tiles(0..<341)
    let file = try MadeArchive.data(tiles)
    let server = ArchiveServer(file)
    var attempts = 0
    while true {
      server.change { $0.answers = Int.random(in: 0...6, using: &generator) }
      attempts += 1
      do {
        _ = try await download(server, partSize: 700)
        break
      } catch {
        #expect((error as? BothyError)?.code == .unavailable, "seed \(seed): \(error)")
        #expect(!names.contains("a.pmtiles"), "nothing is there before all of it is")
      }
    }
    #expect(attempts > 1 && server.bytes == file.count, "seed \(seed): no byte came twice")
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile)) }
  }

  @Test(
    "An archive that changes meanwhile begins anew, and is never mixed",
    arguments: RandomRuns.seeds(10, from: 1))
  func changed(seed: UInt64) async throws {
    var generator = SeededGenerator(seed: seed)
    let tiles = try MadeArchive.tiles(0..<341)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    let isWeak = generator.chance(40)
    let before = Int.random(in: 1...20, using: &generator)
    let second = try MadeArchive.data(tiles, version: "2")
    server.change { $0.versions.append((before, second, isWeak ? "W/\"2\"" : "\"2\"")) }
    server.change { $0.answers = generator.chance(50) ? before + 3 : nil }
    // A failed call is one of another process.
    if await (try? download(server, partSize: 500)) == nil {
      server.change { $0.answers = nil }
      _ = try await download(server, partSize: 500)
    }
    let versions = Set(
      try await tiles.asyncMap { try await content($0)?.split(separator: " v").last.map(String.init) })
    #expect(versions.count == 1, "seed \(seed): \(versions)")
  }

  @Test("A smaller archive replaces one of which a part has come", arguments: [true, false])
  func smaller(namesVersion: Bool) async throws {
    let server = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<341)), tag: "W/\"1\"")
    server.change { $0.answers = 3 }
    await #expect(throws: BothyError.self) { try await download(server) }
    let tiles = try MadeArchive.tiles(0..<5)
    server.change { $0.answers = nil }
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: namesVersion ? "W/\"2\"" : nil)
    _ = try await download(server)
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile, "2")) }
  }

  @Test("A download that came whole before is confirmed before it is installed")
  func uninstalled() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    _ = try await download(server)
    /// Makes the files those of a process that ended after the last part.
    func takeBack() throws {
      for ending in ["", ".version"] {
        try FileManager.default.moveItem(atPath: path + ending, toPath: path + ".download" + ending)
      }
    }
    try takeBack()
    server.forget()
    _ = try await download(server)
    #expect(server.requests == [0..<1])
    try takeBack()
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: "\"2\"")
    _ = try await download(server)
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile, "2")) }
  }

  @Test("An archive that was installed before a kill isn't downloaded again")
  func installed() async throws {
    let server = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<85)))
    _ = try await download(server)
    // The file has its name, and its version doesn't have its own yet.
    try FileManager.default.moveItem(atPath: path + ".version", toPath: path + ".download.version")
    server.forget()
    #expect(try await download(server).name == "Made")
    #expect(server.requests == [0..<1])
    #expect(names == ["a.pmtiles", "a.pmtiles.version"])
  }

  @Test("An archive without a version has none of the earlier one")
  func unversioned() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    _ = try await download(server)
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: nil)
    _ = try await download(server)
    #expect(names == ["a.pmtiles"])
    for tile in tiles { #expect(try await content(tile) == MadeArchive.text(tile, "2")) }
  }

  @Test("A cancelled download throws an error of this package")
  func cancelled() async throws {
    let server = ArchiveServer(try MadeArchive.data(MadeArchive.tiles(0..<5)))
    let task = Task {
      while !Task.isCancelled { await Task.yield() }
      return try await download(server)
    }
    task.cancel()
    let error = await #expect(throws: BothyError.self) { try await task.value }
    #expect(error?.code == .cancelled)
  }

  @Test("A download's lock has one holder, also while it is deleted")
  func lock() throws {
    let holders = Atomic(0)
    let most = Locked(0)
    let lockPath = path + ".download.lock"
    DispatchQueue.concurrentPerform(iterations: 8) { _ in
      for _ in 0..<4000 {
        // A lock that can't be made fails the count below.
        guard let lock = try? RegionLock(lockPath) else { continue }
        let count = holders.add(1, ordering: .sequentiallyConsistent).newValue
        most.change { $0 = max($0, count) }
        // Looks at the disk give the others time.
        for _ in 0..<3 { _ = FileManager.default.fileExists(atPath: lockPath) }
        holders.subtract(1, ordering: .sequentiallyConsistent)
        lock.remove()
        lock.release()
      }
    }
    #expect(most.value == 1)
  }

  @Test("A damaged archive, a page or a missing one changes no file")
  func refused() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let good = try MadeArchive.data(tiles)
    let server = ArchiveServer(good)
    _ = try await download(server)
    var zeroed = good
    for place in (zeroed.count - 30)..<zeroed.count { zeroed[place] = 0 }
    for (place, bad) in [zeroed, good.prefix(good.count - 10), Data(repeating: 7, count: 5000)].enumerated() {
      server.replace(Data(bad), tag: "\"bad \(place)\"")
      let error = await #expect(throws: BothyError.self) { try await download(server) }
      #expect([.damagedArchive, .notAnArchive].contains(error?.code))
      #expect(try await content(tiles[7]) == MadeArchive.text(tiles[7]))
      #expect(names.contains("a.pmtiles") && !names.contains("a.pmtiles.download"))
    }
    for (status, page) in [(200, "<html>Sign in</html>"), (404, ""), (500, "")] {
      server.change { $0.page = (status, page) }
      let error = await #expect(throws: BothyError.self) { try await download(server) }
      #expect(error?.code == .unavailable)
      #expect(try await content(tiles[7]) == MadeArchive.text(tiles[7]))
    }
  }

  @Test("A cache reads the new archive from the moment when it is there")
  func swapped() async throws {
    let tiles = try MadeArchive.tiles(0..<85)
    let server = ArchiveServer(try MadeArchive.data(tiles))
    _ = try await download(server)
    let rig = try ArchiveRig(path, loader: nil)
    for tile in tiles { #expect(try await rig.read(tile).text == MadeArchive.text(tile)) }
    server.replace(try MadeArchive.data(tiles, version: "2"), tag: "\"2\"")
    server.change { $0.answers = 4 }
    await #expect(throws: BothyError.self) { try await download(server, partSize: 500) }
    for tile in tiles { #expect(try await rig.read(tile).text == MadeArchive.text(tile)) }
    server.change { $0.answers = nil }
    _ = try await download(server, partSize: 500)
    // A file system may count time coarsely.
    try FileManager.default.setAttributes(
      [.modificationDate: Date(timeIntervalSince1970: 1_800_000_000)], ofItemAtPath: path)
    for tile in tiles { #expect(try await rig.read(tile).text == MadeArchive.text(tile, "2")) }
  }
}

extension Sequence where Element: Sendable {
  fileprivate func asyncMap<Result>(_ body: (Element) async throws -> Result) async rethrows -> [Result] {
    var results: [Result] = []
    for element in self { results.append(try await body(element)) }
    return results
  }
}
