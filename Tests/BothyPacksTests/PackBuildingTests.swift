import BothyPacks
import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(5))) struct PackBuildingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Promises: K-21
  @Test func theSameRowsGiveTheSameBytes() throws {
    let first = try TemporaryFolder.contents(of: Times.build(folder, "first", note: "x"))
    let second = try TemporaryFolder.contents(of: Times.build(folder, "second", note: "x"))
    #expect(first.count == 14 && first == second)
    let again = try TemporaryFolder.contents(of: Times.build(folder, "first", note: "x"))
    #expect(again == first)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["first", "second"])
  }

  /// Promises: K-20
  @Test func theManifestCountsAndHashesEveryFile() throws {
    let pack = try Pack(at: Times.build(folder))
    let manifest = pack.manifest
    #expect(manifest.rows == 12 + 288 && manifest.name == "prayer-times" && manifest.version == "1")
    #expect(
      manifest.contents == [
        .init(type: "City", rows: 12), .init(type: "PrayerTime", rows: 288, shardedBy: "city"),
      ])
    #expect(manifest.files.map(\.rows) == [12] + Array(repeating: 24, count: 12))
    #expect(manifest.files.allSatisfy { $0.sha256.count == 64 && $0.bytes > 0 })
    var progress: [Int] = []
    try pack.verify { done, _ in progress.append(done) }
    #expect(progress == Array(1...13))
  }

  @Test("A file or manifest that was swapped since the opening is found")
  func swapped() throws {
    let url = try Times.build(folder)
    let pack = try Pack(at: url)
    let shard = URL(filePath: url.path + "/" + pack.manifest.files[1].name)
    let whole = try Data(contentsOf: shard)
    var damaged = whole
    damaged[damaged.count - 1] ^= 1
    try damaged.write(to: shard, options: .atomic)
    #expect(code { try pack.verify() } == .checksumMismatch)
    try whole.write(to: shard, options: .atomic)
    try pack.verify()
    let place = URL(filePath: url.path + "/" + Pack.Manifest.fileName)
    var other = pack.manifest
    other.version = "2"
    try Data(other.text).write(to: place, options: .atomic)
    #expect(code { try pack.verify() } == .damagedFile)
    try FileManager.default.removeItem(at: place)
    #expect(code { try pack.verify() } == .notFound)
  }

  @Test func aChangeOfOneCityLeavesTheOtherShardsAsTheyAre() throws {
    let old = try Pack(at: Times.build(folder, "old"))
    let url = folder.url("new")
    let builder = PackBuilder(
      name: "prayer-times", version: "2", schema: old.schema, shardBy: ["PrayerTime": "city"])
    try builder.build(at: url) { writer in
      for city in Times.cities(12) { try writer.add(city) }
      for time in Times.times(cities: 12, days: 4) where time.id != "3/0/fajr" {
        var time = time
        if time.id == "3/1/fajr" { time.minute = 1 }
        try writer.add(time)
      }
      var added = PrayerTime(3, 0, 0)
      added.id = "new"
      try writer.add(added)
    }
    let difference = try old.difference(from: Pack(at: url))
    // The index has the positions of ids, so it changes too.
    #expect(difference.sameFiles == 11 && difference.hasSameSchema && !difference.isSame)
    let times = try #require(difference.records.last)
    #expect(times.added == 1 && times.removed == 1 && times.changed == 1)
    #expect(times.examples == ["new", "3/1/fajr", "3/0/fajr"])
    #expect(difference.records.first?.isEmpty == true)
    #expect(try old.difference(from: old).isSame)
  }

  @Test("Records that differ by the spelling of a letter are reported as changed")
  func spelling() throws {
    let packs = try ["caf\u{E9}", "cafe\u{301}"].enumerated().map { number, note in
      try Pack(at: Times.build(folder, "\(number)", cities: 2, days: 1, note: note))
    }
    let times = try #require(try packs[0].difference(from: packs[1]).records.last)
    #expect(times.changed == 12 && times.added + times.removed == 0)
  }

  @Test func rowsThatDoNotFitAreNamedAndWhatWasThereStays() throws {
    let url = try Times.build(folder)
    let before = try TemporaryFolder.contents(of: url)
    let builder = PackBuilder(
      name: "prayer-times", version: "2", schema: StoreSchema(City.self, PrayerTime.self))
    #expect(
      code {
        try builder.build(at: url) { pack in
          try pack.add(PrayerTime(1, 1, 1))
          try pack.add(PrayerTime(1, 1, 1))
        }
      } == .invalidInput)
    #expect(throws: BothyError.self) {
      try builder.build(at: url) { try $0.add(AnyRecord("PrayerTime", id: "a", ["day": "monday"])) }
    }
    #expect(try TemporaryFolder.contents(of: url) == before)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["times"])
    var split = builder
    split.shardBy = ["PrayerTime": "hour"]
    #expect(code { try split.build(at: url) { _ in } } == .invalidInput)
    split.shardBy = ["City": "place"]
    #expect(code { try split.build(at: url) { _ in } } == .invalidInput)
    try Data("mine".utf8).write(to: folder.url("file"))
    #expect(code { try builder.build(at: folder.url("file")) { _ in } } == .cannotWrite)
  }

  @Test("What can't be written ends a build as such", arguments: ["index.sqlite", Pack.Manifest.fileName])
  func unwritable(_ name: String) throws {
    let builder = PackBuilder(name: "cities", version: "1", schema: StoreSchema(City.self))
    let draft = folder.path + "/.times.building-\(ProcessInfo.processInfo.processIdentifier)/pack/" + name
    #expect(
      code {
        try builder.build(at: folder.url("times")) { pack in
          for city in Times.cities(2) { try pack.add(city) }
          // Like a full disk, a folder of this name takes no bytes.
          try FileManager.default.createDirectory(atPath: draft, withIntermediateDirectories: true)
        }
      } == .cannotWrite)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  @Test func anEmptyPackAndRowsWithoutAKeyAreFine() throws {
    let schema = StoreSchema(types: [TypeSchema("Note", fields: [FieldSchema("kind", .text, optional: true)])]
    )
    let builder = PackBuilder(name: "notes", version: "1", schema: schema, shardBy: ["Note": "kind"])
    try builder.build(at: folder.url("empty")) { _ in }
    let empty = try Pack(at: folder.url("empty"))
    #expect(try empty.fetch(AnyQuery("Note")).isEmpty && empty.manifest.files.count == 1)
    try builder.build(at: folder.url("nulls")) { pack in
      try pack.add(AnyRecord("Note", id: "a"))
      try pack.add(AnyRecord("Note", id: "b", ["kind": "x"]))
    }
    let pack = try Pack(at: folder.url("nulls"))
    #expect(pack.shardKeys(of: "Note") == [.null, "x"])
    #expect(
      try pack.fetch(AnyQuery("Note", where: .compare(field: "kind", .equal, .null))).map(\.id) == ["a"])
    #expect(try pack.record(RecordID(type: "Note", id: "a")) != nil)
    try pack.verify()
  }

  @Test("A name that can't be shown is refused before the build", arguments: ["a\u{7}", "\u{202E}b"])
  func unprintable(name: String) throws {
    let builder = PackBuilder(name: name, version: "1", schema: StoreSchema(City.self))
    let error = #expect(throws: BothyError.self) { try builder.build(at: folder.url("pack")) { _ in } }
    #expect(error?.code == .invalidInput)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).isEmpty)
  }

  /// In a container, a killed process mostly had the id of the next one.
  @Test("A build gives a pack its name back that a killed build was replacing", arguments: [false, true])
  func killedWhileReplacing(isOwn: Bool) throws {
    let files = FileManager.default
    let whole = try TemporaryFolder.contents(of: Times.build(folder, "pack", note: "x"))
    // A process that has ended.
    let process = Process()
    process.executableURL = URL(filePath: "/bin/sh")
    process.arguments = ["-c", "exit 0"]
    try process.run()
    process.waitUntilExit()
    let id = isOwn ? ProcessInfo.processInfo.processIdentifier : process.processIdentifier
    let left = folder.url(".pack.building-\(id)").path
    try files.createDirectory(atPath: left, withIntermediateDirectories: true)
    try files.moveItem(atPath: folder.url("pack").path, toPath: left + "/old")
    let builder = PackBuilder(name: "times", version: "2", schema: StoreSchema(City.self))
    struct Stopped: Error {}
    #expect(throws: Stopped.self) { try builder.build(at: folder.url("pack")) { _ in throw Stopped() } }
    #expect(try files.contentsOfDirectory(atPath: folder.path) == ["pack"])
    #expect(try TemporaryFolder.contents(of: folder.url("pack")) == whole)
  }

  @Test("Two builds of one folder in one process are both whole")
  func atOnce() throws {
    let builder = PackBuilder(name: "cities", version: "1", schema: StoreSchema(City.self))
    try builder.build(at: folder.url("pack")) { pack in
      try builder.build(at: folder.url("pack")) { inner in try inner.add(Times.cities(1)[0]) }
      #expect(try Pack(at: folder.url("pack")).fetch(AnyQuery("City")).count == 1)
      for city in Times.cities(3) { try pack.add(city) }
    }
    let pack = try Pack(at: folder.url("pack"))
    #expect(try pack.fetch(AnyQuery("City")).count == 3)
    try pack.verify()
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == ["pack"])
  }

  @Test("A name that can't be forced to the disk leaves the folder unchanged", arguments: [true, false])
  func unsynced(isReplacing: Bool) throws {
    let url = folder.url("pack")
    if isReplacing { try Times.build(folder, "pack") }
    let before = try isReplacing ? TemporaryFolder.contents(of: url) : nil
    let place = try BuildPlace(url.path)
    try Data("new".utf8).write(to: URL(filePath: place.pack + "/a"))
    struct Failed: Error {}
    #expect(throws: Failed.self) { try place.finish { _ in throw Failed() } }
    place.remove()
    #expect(FileManager.default.fileExists(atPath: url.path) == isReplacing)
    if let before { #expect(try TemporaryFolder.contents(of: url) == before) }
  }
}
