import BothyPacks
import BothyStore
import BothyTestSupport
import Foundation
import GRDB
import Testing

@Suite(.timeLimit(.minutes(5))) struct PackReadingTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  /// Promises: K-20
  @Test func aQueryOfOneCityOpensTheIndexAndItsShardAndNoOther() throws {
    let log = FileLog()
    let pack = try Pack(
      at: Times.build(folder), expecting: [City.self, PrayerTime.self], options: log.options())
    #expect(pack.manifest.files.count == 13)
    #expect(pack.shardKeys(of: "PrayerTime").count == 12)
    #expect(log.opened == ["index.sqlite"])
    let times = try pack.fetch(RecordQuery<PrayerTime>().where { $0.city == "City 3" && $0.day == 2 })
    #expect(times.count == 6 && times.allSatisfy { $0.city == "City 3" && $0.day == 2 })
    #expect(try pack.fetch(PrayerTime.self, id: "3/1/asr") == PrayerTime(3, 1, 3))
    #expect(try pack.fetch(Reference<PrayerTime>(id: "3/1/asr")) == PrayerTime(3, 1, 3))
    #expect(try pack.count(RecordQuery<PrayerTime>().where { $0.city == "City 3" }) == 24)
    let shard = try #require(pack.manifest.files.first { $0.key == "City 3" })
    #expect(log.opened == ["index.sqlite", shard.name])
    #expect(try pack.fetch(RecordQuery<PrayerTime>().where { $0.city == "nowhere" }).isEmpty)
    #expect(try pack.fetch(RecordQuery<City>()).count == 12)
    #expect(log.opened == ["index.sqlite", shard.name])
  }

  /// Promises: K-20
  @Test func shardsAreClosedByLastUseAndOpenedAgain() throws {
    let log = FileLog()
    let pack = try Pack(at: Times.build(folder), options: log.options(openShards: 2))
    func read(_ city: Int) throws {
      #expect(try pack.fetch(RecordQuery<PrayerTime>().where { $0.city == "City \(city)" }).count == 24)
    }
    for city in [0, 1, 0, 2] { try read(city) }
    let names = (0..<3).compactMap { city in
      pack.manifest.files.first { $0.key == .text("City \(city)") }?.name
    }
    #expect(log.opened == ["index.sqlite"] + names)
    #expect(log.closed == [names[1]])
    try read(1)
    #expect(log.closed == [names[1], names[0]])
    #expect(try pack.fetch(RecordQuery<PrayerTime>()).count == 288)
    #expect(log.opened.count - log.closed.count == 3)
    pack.close()
    #expect(log.opened.count - log.closed.count == 1)
    #expect(code { try read(1) } == .closed)
  }

  /// Promises: K-22, B-45
  @Test func recordsArePlainValuesThatOutliveThePackAndItsFiles() async throws {
    let url = try Times.build(folder)
    var pack: Pack? = try Pack(at: url)
    let cities = try #require(try await pack?.fetch(RecordQuery<City>().order { $0.name.ascending }))
    let one = try #require(try pack?.fetch(PrayerTime.self, id: "5/0/isha"))
    let record = try #require(try pack?.record(RecordID(type: "PrayerTime", id: "5/0/isha")))
    pack = nil
    try FileManager.default.removeItem(at: url)
    let seen = await Task.detached { (cities.count, one, record["city"]) }.value
    #expect(seen == (12, PrayerTime(5, 0, 5), "City 5"))
    #expect(try record.entity(PrayerTime.self) == one)
  }

  /// Promises: K-23
  @Test func idsListsRangesAndPagesAreAsInAStore() throws {
    let split = try Pack(at: Times.build(folder, "split", cities: 5, days: 6))
    let whole = try Pack(at: Times.build(folder, "whole", cities: 5, days: 6, isSplit: false))
    let all = Times.times(cities: 5, days: 6).map { AnyRecord($0) }
    var queries = [
      AnyQuery("PrayerTime"),
      AnyQuery(
        "PrayerTime", where: .compare(field: "day", .less, 3),
        order: [SortKey("minute"), SortKey("city", ascending: false)]),
      AnyQuery("PrayerTime", order: [SortKey("minute", ascending: false)], limit: 7, offset: 11),
      AnyQuery(
        "PrayerTime", where: .oneOf(field: "city", ["City 1", "City 4", "none"]), order: [SortKey("day")],
        limit: 9),
      AnyQuery("PrayerTime", where: .compare(field: "city", .greaterOrEqual, "City 3"), limit: 40),
      AnyQuery("PrayerTime", where: .compare(field: "id", .equal, "2/2/asr")),
      AnyQuery("PrayerTime", where: .oneOf(field: "id", ["2/2/asr", "4/1/fajr", "x"])),
      AnyQuery(
        "PrayerTime",
        where: .or([.compare(field: "city", .equal, "City 0"), .compare(field: "minute", .less, 260)])),
      AnyQuery(
        "PrayerTime", where: .not(.compare(field: "city", .equal, "City 0")),
        order: [SortKey("id", ascending: false)], limit: 3),
      AnyQuery("PrayerTime", where: .none), AnyQuery("PrayerTime", limit: 0),
      AnyQuery("PrayerTime", limit: .max, offset: 5),
    ]
    for page in 0..<8 {
      queries.append(AnyQuery("PrayerTime", order: [SortKey("prayer")], limit: 25, offset: 25 * page))
    }
    for query in queries {
      let expected = try query.evaluate(over: all, schema: PrayerTime.schema).map(\.id)
      #expect(try split.fetch(query).map(\.id) == expected)
      #expect(try whole.fetch(query).map(\.id) == expected)
      #expect(try split.fetch(RecordQuery<PrayerTime>(query)).map(\.id) == expected)
      #expect(try split.count(query) == expected.count)
      #expect(try whole.count(RecordQuery<PrayerTime>(query)) == expected.count)
    }
    for record in all {
      #expect(try split.record(record.recordID)?.fields == record.fields)
      #expect(try whole.record(record.recordID)?.fields == record.fields)
    }
    #expect(try split.record(RecordID(type: "PrayerTime", id: "none")) == nil)
    #expect(throws: BothyError.self) { try split.fetch(AnyQuery("Nothing")) }
    #expect(throws: BothyError.self) {
      try split.fetch(AnyQuery("PrayerTime", order: [SortKey("nothing")]))
    }
  }

  /// Promises: K-23
  @Test func anIdInAConditionOpensOneShard() throws {
    let log = FileLog()
    let pack = try Pack(at: Times.build(folder), options: log.options())
    #expect(
      try pack.fetch(AnyQuery("PrayerTime", where: .compare(field: "id", .equal, "7/0/fajr"))).count == 1)
    #expect(log.opened.count == 2)
  }

  /// Promises: K-23
  @Test func noQueryByIdScansAFile() throws {
    for isSplit in [true, false] {
      let url = try Times.build(folder, isSplit ? "split" : "whole", isSplit: isSplit)
      let pack = try Pack(at: url)
      let id = try QueryCompiler(PrayerTime.schema, TableColumns(PrayerTime.schema))
        .tail(AnyQuery("PrayerTime", where: .compare(field: "id", .equal, "7/0/fajr")))
      let selects = [
        "bothy_ids_PrayerTime": SQLFragment(" WHERE id = ?", ["7/0/fajr"]), "PrayerTime": id,
      ]
      var planned: Set<String> = []
      for file in pack.manifest.files {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: url.path + "/" + file.name, configuration: configuration)
        try queue.read { database in
          for (table, tail) in selects where try database.tableExists(table) {
            let select = try PreparedStatement(
              unkept: "EXPLAIN QUERY PLAN SELECT 1 FROM \(table)\(tail.sql)", in: database)
            select.bind(tail.arguments)
            var lines: [String] = []
            while try select.step() { lines.append(select.text(at: 3) ?? "") }
            #expect(lines.contains { $0.hasPrefix("SEARCH") }, "\(file.name): \(lines)")
            #expect(!lines.contains { $0.hasPrefix("SCAN") }, "\(file.name): \(lines)")
            planned.insert(table)
          }
        }
        try queue.close()
      }
      #expect(planned == (isSplit ? ["bothy_ids_PrayerTime", "PrayerTime"] : ["PrayerTime"]))
    }
  }

  /// Promises: K-20
  @Test func anOrOpensTheShardsOfAllItsPartsAndNoOther() throws {
    let log = FileLog()
    let pack = try Pack(at: Times.build(folder), options: log.options())
    let query = AnyQuery(
      "PrayerTime",
      where: .or([
        .compare(field: "city", .equal, "City 2"), .oneOf(field: "city", ["City 5", "none"]),
        .compare(field: "id", .equal, "7/0/fajr"),
      ]))
    let all = Times.times(cities: 12, days: 4).map { AnyRecord($0) }
    let expected = try query.evaluate(over: all, schema: PrayerTime.schema).map(\.id)
    #expect(expected.count == 24 + 24 + 1)
    #expect(try pack.fetch(query).map(\.id) == expected)
    #expect(try pack.count(query) == expected.count)
    let cities: Set<FieldValue> = ["City 2", "City 5", "City 7"]
    let names = pack.manifest.files.filter { cities.contains($0.key) }.map(\.name)
    #expect(names.count == 3 && log.opened == ["index.sqlite"] + names)
  }

  @Test func namesAndPlacesAreFoundByTheirIndexes() throws {
    let pack = try Pack(at: Times.build(folder), expecting: [City.self])
    #expect(try pack.fetch(RecordQuery<City>().where(.matches("al jahra"))).map(\.id) == ["0"])
    let here = Coordinate(latitude: 29.31, longitude: 47.16)
    #expect(
      try pack.fetch(RecordQuery<City>().nearest(to: here) { $0.place }.limit(2)).map(\.id) == ["3", "4"])
    let near = AnyQuery("City", where: .near(field: "place", centre: here, metres: 5000))
    #expect(try pack.fetch(near).map(\.id) == ["3"])
  }

  @Test("A search over many shards has the most relevant records first")
  func relevance() throws {
    let names = ["City", "City of the City", "A village", "Old city"]
    let cities = names.enumerated().map {
      City("\($0)", $1, Coordinate(latitude: 29, longitude: 47))
    }
    let url = folder.url("cities")
    try PackBuilder(
      name: "cities", version: "1", schema: StoreSchema(City.self), shardBy: ["City": "name"]
    ).build(at: url) { pack in for city in cities { try pack.add(city) } }
    let pack = try Pack(at: url, expecting: [City.self])
    let search = RecordQuery<City>().matching("city", bestFirst: true)
    #expect(try pack.fetch(search).map(\.id) == ["1", "0", "3"])
    #expect(try pack.fetch(search.limit(1, offset: 1)).map(\.id) == ["0"])
    #expect(try pack.fetch(search.recordQuery).map(\.id) == ["1", "0", "3"])
  }

  /// Promises: K-21, B-45
  @Test func anAppMayKnowFewerFieldsInAnotherOrder() throws {
    let pack = try Pack(at: Times.build(folder), expecting: [BriefTime.self, PrayerTime.self])
    let brief = try #require(try pack.fetch(BriefTime.self, id: "1/1/asr"))
    #expect(brief.minute == Double(PrayerTime(1, 1, 3).minute) && brief.city == "City 1")
    let query = AnyQuery(
      "PrayerTime", where: .compare(field: "city", .equal, "City 1"), order: [SortKey("minute")])
    #expect(
      try pack.fetch(RecordQuery<BriefTime>(query)).map(\.id)
        == pack.fetch(RecordQuery<PrayerTime>(query)).map(\.id))
  }

  /// Promises: B-45
  @Test func aCaseThatTheAppDoesNotKnowReadsAsInAStore() throws {
    for isSplit in [true, false] {
      let url = try Times.build(folder, isSplit ? "split" : "whole", isSplit: isSplit)
      let pack = try Pack(at: url, expecting: [FamiliarTime.self, StrictTime.self])
      let known = try #require(try pack.fetch(FamiliarTime.self, id: "1/1/isha"))
      #expect(known.prayer == .isha && known.city == .first)
      let unknown = try #require(try pack.fetch(FamiliarTime.self, id: "2/1/asr"))
      #expect(unknown.prayer == .fajr && unknown.city == nil)
      #expect(try pack.fetch(StrictTime.self, id: "2/1/isha")?.prayer == .isha)
      #expect(code { _ = try pack.fetch(StrictTime.self, id: "2/1/asr") } == .invalidValue)
      // All shards, and one: two of six prayers are known.
      let filters: [(ConditionTree, Int)] = [(.all, 288), (.compare(field: "city", .equal, "City 2"), 24)]
      for (filter, count) in filters {
        let query = AnyQuery("PrayerTime", where: filter)
        #expect(try pack.fetch(RecordQuery<FamiliarTime>(query)).count == count)
        let strict = try pack.fetch(RecordQuery<StrictTime>(query))
        #expect(strict.count == count / 3)
        #expect(try pack.count(RecordQuery<StrictTime>(query)) == count)
        #expect(strict.filter { $0.prayer == .isha }.count == count / 6)
      }
    }
  }

  /// Promises: K-21, B-44
  @Test func aSchemaThatDoesNotFitIsNamedInFull() throws {
    let url = try Times.build(folder)
    #expect(code { _ = try Pack(at: url, expecting: [OtherTime.self]) } == .schemaMismatch)
    let pack = try Pack(at: url)
    do {
      _ = try pack.fetch(OtherTime.self, id: "1/1/asr")
      Issue.record("Nothing was thrown.")
    } catch let error as BothyError {
      #expect(error.code == .schemaMismatch)
      for part in [
        "'minute' is a whole number there and a string here", "no field 'second'", "'note' may be null",
        "'prayer' is a string there and a decimal here",
      ] {
        #expect(error.message.contains(part))
      }
    }
  }

  /// Promises: K-21, B-44
  @Test func aFolderThatMayNotBeWrittenIsEnoughAndNothingIsLeftInIt() throws {
    let url = try Times.build(folder)
    let before = try TemporaryFolder.contents(of: url)
    let files = FileManager.default
    try files.setAttributes([.posixPermissions: 0o555], ofItemAtPath: url.path)
    // Otherwise the folder can't be deleted.
    defer { try? files.setAttributes([.posixPermissions: 0o755], ofItemAtPath: url.path) }
    let pack = try Pack(at: url)
    #expect(try pack.fetch(RecordQuery<PrayerTime>()).count == 288)
    #expect(try files.contentsOfDirectory(atPath: url.path).sorted() == before.keys.sorted())
    try pack.verify()
    #expect(try TemporaryFolder.contents(of: url) == before)
  }

  @Test func manyThreadsReadWhileShardsComeAndGo() async throws {
    let pack = try Pack(at: Times.build(folder), options: Pack.Options(openShards: 2))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for number in 0..<200 {
        group.addTask { () async throws in
          let city = number % 12
          #expect(try pack.fetch(PrayerTime.self, id: "\(city)/3/isha") == PrayerTime(city, 3, 5))
          let query = RecordQuery<PrayerTime>().where { $0.city == "City \(city)" }
          #expect(try await pack.fetch(query).count == 24)
        }
      }
      try await group.waitForAll()
    }
  }
}
