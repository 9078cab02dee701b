import BothyCache
import BothyPacks
import BothyStore
import BothyTestSupport
import Foundation
import Synchronization
import Testing

@Suite(.timeLimit(.minutes(15))) struct PackStoreTests {
  let folder: TemporaryFolder
  let shelf: PackStore

  init() throws {
    folder = try TemporaryFolder()
    shelf = PackStore(at: folder.url("shelf"), expecting: [City.self, PrayerTime.self])
  }

  var versions: [String] {
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder.path + "/shelf/versions")
    return (names ?? []).filter { !$0.hasSuffix(".lock") }
  }

  func note(_ pack: Pack) throws -> String? { try pack.fetch(PrayerTime.self, id: "1/1/asr")?.note }

  /// Promises: K-24
  @Test func aNewerVersionTakesThePlaceAndTheOldOneGoesWithItsLastReader() async throws {
    #expect(code { _ = try shelf.pack() } == .notFound)
    let first = try await shelf.install(from: Times.build(folder, "a", version: "1", note: "old"))
    #expect(first.isNew && first.fetched == 13)
    var reader: Pack? = try shelf.pack()
    #expect(try shelf.pack() === reader)
    try await shelf.install(from: Times.build(folder, "b", version: "2", note: "new"))
    #expect(try note(shelf.pack()) == "new")
    // The old version still opens shards that it had not opened yet.
    #expect(try reader.map(note) == "old" && versions.count == 2)
    #expect(try await reader?.fetch(RecordQuery<PrayerTime>()).count == 288)
    reader = nil
    #expect(versions.count == 1)
    #expect(try note(shelf.pack()) == "new")
    let again = try await shelf.install(from: folder.url("b"))
    #expect(!again.isNew && versions.count == 1)
  }

  @Test("What can't be written ends an installation as such", arguments: [true, false])
  func unwritable(isManifest: Bool) async throws {
    let url = try Times.build(folder, "a", note: "good")
    let incoming = folder.path + "/shelf/incoming"
    let failed = await asyncCode {
      try await shelf.install(from: url) { done, all in
        guard done == all, let name = try? FileManager.default.contentsOfDirectory(atPath: incoming).first
        else { return }
        // Like a full disk, a folder takes no bytes: one in place of the manifest, or of the new link.
        let place = isManifest ? "\(name)/\(Pack.Manifest.fileName)" : name.replacing(".staged", with: "")
        try? FileManager.default.createDirectory(
          atPath: "\(incoming)/\(place)", withIntermediateDirectories: true)
      }
    }
    #expect(failed == .cannotWrite)
    #expect(code { _ = try shelf.pack() } == .notFound)
    try await shelf.install(from: url)
    #expect(try note(shelf.pack()) == "good" && versions.count == 1)
  }

  @Test func aManifestWithExtremeNumbersOrUnprintableNamesIsRefused() throws {
    let url = try Times.build(folder, "bad", version: "2", note: "bad")
    let bytes = FileManager.default.contents(atPath: url.path + "/manifest.json") ?? Data()
    let text = String(decoding: bytes, as: UTF8.self)
    func refused(_ changed: String) -> Bool {
      changed != text
        && code { _ = try Pack.Manifest(parsing: Array(changed.utf8), of: "bad") } == .corruptManifest
    }
    for number in [
      "9223372036854775807", "-1", "-9223372036854775808", "1e308", "18446744073709551615", "1e15",
      String(repeating: "9", count: 40),
    ] {
      #expect(refused(text.replacing("\"rows\":24", with: "\"rows\":\(number)")))
      #expect(refused(text.replacing(/"bytes":[0-9]+/, with: "\"bytes\":\(number)")))
    }
    for name in ["\\u001b[2J", "\\u202e", "\\n"] {
      #expect(refused(text.replacing("\"version\":\"2", with: "\"version\":\"\(name)")))
    }
  }

  /// Promises: K-24
  @Test func whatIsBadIsNotInstalledAndWhatIsThereStays() async throws {
    try await shelf.install(from: Times.build(folder, "good", note: "good"))
    let before = try shelf.pack().folder
    func refused(_ expected: BothyError.Code, _ spoil: (URL, Pack.Manifest) throws -> Void) async throws {
      let url = try Times.build(folder, "bad", version: "2", note: "bad")
      try spoil(url, try Pack(at: url).manifest)
      #expect(await asyncCode { try await shelf.install(from: url) } == expected)
      #expect(try shelf.pack().folder == before && note(shelf.pack()) == "good" && versions.count == 1)
      #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path + "/shelf/incoming").isEmpty)
    }
    func edit(_ url: URL, _ change: (String) -> String) throws {
      let path = url.path + "/manifest.json"
      let text = String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
      #expect(change(text) != text)
      try Data(change(text).utf8).write(to: URL(filePath: path))
    }
    try await refused(.checksumMismatch) { url, manifest in
      let path = url.path + "/" + manifest.files[4].name
      var bytes = FileManager.default.contents(atPath: path) ?? Data()
      bytes[bytes.count - 1] ^= 1
      try bytes.write(to: URL(filePath: path))
    }
    try await refused(.damagedFile) { url, manifest in
      let path = url.path + "/" + manifest.files[5].name
      let bytes = FileManager.default.contents(atPath: path) ?? Data()
      try bytes.prefix(5000).write(to: URL(filePath: path))
    }
    try await refused(.damagedFile) { url, manifest in
      try FileManager.default.removeItem(atPath: url.path + "/" + manifest.files[6].name)
    }
    try await refused(.corruptManifest) { url, _ in try edit(url) { String($0.dropLast(20)) } }
    try await refused(.corruptManifest) { url, _ in
      try edit(url) { $0.replacing("\"rows\":24", with: "\"rows\":25") }
    }
    try await refused(.corruptManifest) { url, _ in try edit(url) { $0.replacing("prayer", with: "prayed") } }
    try await refused(.newerFile) { url, _ in
      try edit(url) { $0.replacing("\"format\":1", with: "\"format\":2") }
    }
    for name in ["../../../up.sqlite", "/etc/x.sqlite", "a/b.sqlite", "..sqlite", "a\\\\b.sqlite"] {
      try await refused(.unsafeName) { url, manifest in
        try edit(url) { $0.replacing(manifest.files[3].name, with: name) }
      }
    }
    #expect(
      await asyncCode { try await shelf.install(from: Times.build(folder, "other", packName: "other")) }
        == .wrongPack)
    #expect(await asyncCode { try await shelf.install(from: folder.url("nothing")) } == .notFound)
  }

  /// Promises: K-24
  @Test func aFileWithAnotherNumberOfRowsIsFoundAndNotInstalled() async throws {
    let url = try Times.build(folder)
    let original = try Pack(at: url).manifest
    // Both manifests are consistent, so only a count of the rows finds the error.
    for changes in [[0: 1], [1: 1, 2: -1]] {
      var manifest = original
      for (file, more) in changes { manifest.files[file].rows += more }
      try Data(manifest.text).write(to: URL(filePath: url.path + "/" + Pack.Manifest.fileName))
      let pack = try Pack(at: url)
      #expect(pack.manifest == manifest)
      #expect(code { try pack.verify() } == .damagedFile)
      #expect(await asyncCode { try await shelf.install(from: url) } == .damagedFile)
      #expect(code { _ = try shelf.pack() } == .notFound)
    }
  }

  /// Promises: K-24, B-44
  @Test func aPackThatTheAppCannotReadIsNotInstalled() async throws {
    try await shelf.install(from: Times.build(folder, "good", note: "good"))
    let builder = PackBuilder(
      name: "prayer-times", version: "2",
      schema: StoreSchema(types: [
        City.schema, TypeSchema("PrayerTime", fields: [.field("city", String.self)]),
      ]))
    try builder.build(at: folder.url("bad")) { _ in }
    #expect(await asyncCode { try await shelf.install(from: folder.url("bad")) } == .schemaMismatch)
    #expect(try note(shelf.pack()) == "good")
    let wanted = StoreSchema(types: [TypeSchema("Sound", fields: [])])
    #expect(
      await asyncCode {
        try await shelf.install(from: Times.build(folder, "b", version: "3"), expecting: wanted)
      }
        == .schemaMismatch)
  }

  /// Promises: K-24
  @Test func anOldVersionThatNobodyReadsGoesWithTheNextInstallation() async throws {
    try await shelf.install(from: Times.build(folder, "a", version: "1", note: "old"))
    try await shelf.install(from: Times.build(folder, "b", version: "2", note: "new"))
    #expect(versions.count == 1)
    // A process that was ended leaves its version, with or without the file for its readers.
    let left = folder.path + "/shelf/versions/left"
    for hasLock in [true, false] {
      try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
      try Data("old".utf8).write(to: URL(filePath: left + "/index.sqlite"))
      if hasLock { try Data().write(to: URL(filePath: left + ".lock")) }
      shelf.removeUnused()
      let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/shelf/versions")
      #expect(names.count == 2 && !names.contains { $0.hasPrefix("left") })
    }
    #expect(try note(shelf.pack()) == "new")
  }

  /// Promises: K-24
  @Test func aSecondInstallationIsRefusedWhileOneRuns() async throws {
    let first = try Times.build(folder, "a", version: "1", note: "first")
    let second = try Times.build(folder, "b", version: "2", note: "second")
    let other = PackStore(at: folder.url("shelf"))
    let refusals = Mutex<[BothyError.Code?]>([])
    let loader = InterruptedLoader(FolderLoader(first)) {
      let refusal = await asyncCode { try await other.install(from: second) }
      refusals.withLock { $0.append(refusal) }
    }
    let source = try ResourceSource("packs", template: "https://packs.example/times/", userAgent: "tests")
    let cache = try ResourceCache(disk: .folder(folder.url("cache")), loader: loader)
    #expect(try await shelf.install(from: source, through: cache).fetched == 13)
    let seen = refusals.withLock { $0 }
    #expect(seen.count == 14 && seen.allSatisfy { $0 == .busy })
    #expect(try note(shelf.pack()) == "first" && versions.count == 1)
    try await other.install(from: second)
    #expect(try note(shelf.pack()) == "second")
    try await cache.close()
  }

  @Test func aBrokenInstallationIsRepairedByInstallingAgain() async throws {
    try await shelf.install(from: Times.build(folder, "a", note: "good"))
    let file = try shelf.pack().manifest.files[2]
    let path = try shelf.pack().folder.path + "/" + file.name
    try Data("damage".utf8).write(to: URL(filePath: path))
    let key = try #require(file.key.text)
    let broken = PackStore(at: folder.url("shelf"))
    #expect(
      code { _ = try broken.pack().fetch(RecordQuery<PrayerTime>().where { $0.city == key }) } == .damagedFile
    )
    let done = try await broken.install(from: folder.url("a"))
    #expect(done.isNew && done.fetched == 1 && done.reused == 12)
    try broken.pack().verify()
    #expect(try await broken.pack().fetch(RecordQuery<PrayerTime>().where { $0.city == key }).count == 24)
  }

  /// Promises: K-24
  @Test func aThousandQueriesSeeOneVersionEachWhileItIsReplaced() async throws {
    let sources = try ["a", "b", "c"].map { try Times.build(folder, $0, version: $0, days: 2, note: $0) }
    try await shelf.install(from: sources[0])
    let sightings = Sightings()
    var second: Task<Void, any Error>?
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<1000 {
        group.addTask { [shelf] in
          let isAfter = sightings.isInstalled.withLock { $0 }
          let pack = try shelf.pack()
          let notes = Set(
            try await pack.fetch(RecordQuery<PrayerTime>().where { $0.city == "City \(number % 12)" }).map(
              \.note))
          #expect(notes.count == 1 && notes == [pack.manifest.version])
          let all = Set(
            try await pack.fetch(RecordQuery<PrayerTime>().where { $0.day == number % 2 }).map(\.note))
          #expect(all == notes)
          if isAfter { #expect(pack.manifest.version == "c") }
          _ = sightings.versions.withLock { $0.insert(pack.manifest.version) }
        }
        if number == 300 { second = Task { [shelf] in _ = try await shelf.install(from: sources[1]) } }
        if number == 600 {
          try await second?.value
          try await shelf.install(from: sources[2])
          sightings.isInstalled.withLock { $0 = true }
        }
      }
      try await group.waitForAll()
    }
    #expect(sightings.versions.withLock { $0 }.contains("c"))
    shelf.removeUnused()
    #expect(versions.count == 1)
  }

  /// Promises: K-24
  @Test func aDownloadIsCheckedBeforeItIsUsedAndOnlyWhatIsNewIsFetched() async throws {
    let first = try Times.build(folder, "a", version: "1", note: "old")
    let loader = FolderLoader(first)
    let source = try ResourceSource("packs", template: "https://packs.example/times/", userAgent: "tests")
    let cache = try ResourceCache(disk: .folder(folder.url("cache")), loader: loader)
    let done = try await shelf.install(from: source, through: cache)
    #expect(done.fetched == 13 && loader.requests.count == 14)
    #expect(try note(shelf.pack()) == "old")
    // One city changes: the index and its shard are fetched.
    let second = folder.url("b")
    let builder = PackBuilder(
      name: "prayer-times", version: "2", schema: StoreSchema(City.self, PrayerTime.self),
      shardBy: ["PrayerTime": "city"])
    try builder.build(at: second) { pack in
      for city in Times.cities(12) { try pack.add(city) }
      for var time in Times.times(cities: 12, days: 4, note: "old") {
        if time.city == "City 1" { time.note = "new" }
        try pack.add(time)
      }
    }
    loader.serve(second)
    loader.clear()
    let next = try await shelf.install(from: source, through: cache)
    #expect(
      next.fetched + next.reused == 13 && next.fetched <= 2 && loader.requests.count == 1 + next.fetched)
    #expect(try note(shelf.pack()) == "new")
    // A server that sends other bytes than the manifest states.
    let bad = try Times.build(folder, "c", version: "3", note: "bad")
    let name = try #require(try Pack(at: bad).manifest.files.last?.name)
    try Data("a login page".utf8).write(to: URL(filePath: bad.path + "/" + name))
    loader.serve(bad)
    #expect(await asyncCode { try await shelf.install(from: source, through: cache) } == .damagedFile)
    loader.serve(folder.url("nothing"))
    #expect(await asyncCode { try await shelf.install(from: source, through: cache) } == .download)
    #expect(try note(shelf.pack()) == "new")
    try await cache.close()
  }

  @Test func thePackThatCameAlongIsUsedIfTheInstalledOneCannotBeOpened() async throws {
    let old = PackBuilder(
      name: "prayer-times", version: "1",
      schema: StoreSchema(types: [TypeSchema("PrayerTime", fields: [.field("city", String.self)])]))
    try old.build(at: folder.url("old")) { _ in }
    try await PackStore(at: folder.url("shelf")).install(from: folder.url("old"))
    // An update of the app needs more fields, and comes with a pack that has them.
    let bundled = try Times.build(folder, "bundled", version: "2", note: "bundled")
    let updated = PackStore(at: folder.url("shelf"), bundled: bundled, expecting: [PrayerTime.self])
    #expect(try note(updated.pack()) == "bundled")
    #expect(code { _ = try shelf.pack() } == .schemaMismatch)
    let gone = try folder.path + "/shelf/versions/" + #require(versions.first)
    for path in [gone, gone + ".lock"] { try FileManager.default.removeItem(atPath: path) }
    #expect(try note(updated.pack()) == "bundled")
    #expect(code { _ = try shelf.pack() } == .notFound)
    try await updated.install(from: Times.build(folder, "new", version: "3", note: "newer"))
    #expect(try note(updated.pack()) == "newer")
  }

  @Test func aFolderOfLinksIsInstalledAsFiles() async throws {
    let real = try Times.build(folder, "real", note: "good")
    let files = FileManager.default
    try files.createDirectory(at: folder.url("links"), withIntermediateDirectories: true)
    for name in try files.contentsOfDirectory(atPath: real.path) {
      try files.createSymbolicLink(
        atPath: folder.path + "/links/" + name, withDestinationPath: real.path + "/" + name)
    }
    try await shelf.install(from: folder.url("links"))
    try files.removeItem(at: real)
    #expect(try note(shelf.pack()) == "good")
  }

  @Test func thePackThatCameAlongIsUsedUntilOneIsInstalled() async throws {
    let bundled = try Times.build(folder, "bundled", note: "bundled")
    let shelf = PackStore(at: folder.url("shelf"), bundled: bundled, expecting: [PrayerTime.self])
    #expect(try note(shelf.pack()) == "bundled")
    try await shelf.install(from: Times.build(folder, "a", version: "2", note: "newer"))
    #expect(try note(shelf.pack()) == "newer")
  }
}

/// The versions that many readers saw, and a flag that the last version is installed.
private final class Sightings: Sendable {
  let versions = Mutex<Set<String>>([])
  let isInstalled = Mutex(false)
}

/// A server at which something happens before each response.
private final class InterruptedLoader: ResourceLoader {
  private let loader: FolderLoader
  private let happen: @Sendable () async -> Void

  init(_ loader: FolderLoader, _ happen: @escaping @Sendable () async -> Void) {
    self.loader = loader
    self.happen = happen
  }

  func load(_ request: ResourceRequest) async throws(LoadFailure) -> ResourceResponse {
    await happen()
    return try await loader.load(request)
  }
}
