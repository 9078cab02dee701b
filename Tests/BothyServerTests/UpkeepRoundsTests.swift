import BothyPostgres
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import BothyTestSupport
import BothyTesting
import Logging
import Testing

/// The upkeep that a server process runs, on a clock that the tests move.
@Suite("Upkeep of a server", .timeLimit(.minutes(5)))
struct UpkeepRoundsTests {
  private static let start: Int64 = 1_767_225_600_000
  private static let day = RetentionPolicy.day
  private static let hour = RetentionPolicy.hour

  private struct Broken: Error {}

  /// Secrets of which those of some spaces can't be read. Counts the readings.
  private struct Secrets: SecretVault {
    let broken = Locked<Set<String>>([])
    let read = Locked<[String]>([])
    let held = Locked<[RecordID]>([])

    func holds(space: String, _ record: RecordID) -> Bool { held.value.contains(record) }
    func remove(space: String, _ record: RecordID) throws { held.change { $0.removeAll { $0 == record } } }
    func remove(space: String) throws {}
    func records(of space: String) throws -> [RecordID] {
      read.change { $0.append(space) }
      if broken.value.contains(space) { throw Broken() }
      return held.value
    }
  }

  /// A process on a storage, and the clock of all processes.
  private struct Process {
    let storage: any ServerMaintenance
    let clock: Locked<Int64>
    let secrets = Secrets()
    let log = LogUnderTest()
    let metrics = MetricsRegistry()
    let pauses = Locked<[Duration]>([])
    let rounds: UpkeepRounds

    init(_ storage: any ServerMaintenance, _ clock: Locked<Int64>, batch: Int = 16) {
      self.storage = storage
      self.clock = clock
      var rules = AccessRules()
      rules.secretVault = secrets
      let configuration = ServerConfiguration(
        storage: storage, rules: rules, logger: log.logger(), now: { clock.value })
      var pace = UpkeepPace(interval: configuration.upkeep.interval)
      pace.batch = batch
      let service = SyncService(storage: storage, rules: rules, now: { clock.value })
      rounds = UpkeepRounds(
        { service }, configuration, metrics: metrics, pace: pace,
        pause: { [pauses] duration in pauses.change { $0.append(duration) } })
    }

    func write(_ space: String, _ position: Int64 = 1, isDeleted: Bool = false) async throws {
      let record = ServerRecord(
        id: RecordID(type: "Todo", id: "1"), container: "Todo", version: "\(position)", modified: 1,
        isDeleted: isDeleted, fields: .empty)
      try await storage.write(space: space) { try $0.put([StoredRecord(position: position, record: record)]) }
    }

    var errors: Int { log.lines.filter { $0.level == .error }.count }
  }

  private static func process(batch: Int = 16) throws -> Process {
    Process(try SQLiteServerStorage(), Locked(start), batch: batch)
  }

  @Test("Each change has one upkeep, and idle spaces have none")
  func idle() async throws {
    let process = try Self.process(batch: 4)
    for number in 0..<10 { try await process.write("s\(number)") }
    #expect(try await process.rounds.round() == 10)
    #expect(process.pauses.value.count == 2, "after each full batch")
    for _ in 0..<48 {
      process.clock.change { $0 += Self.hour }
      #expect(try await process.rounds.round() == 0)
    }
    try await process.write("s3", 2)
    #expect(try await process.rounds.round() == 1)
    try await process.write("s3", 3)
    #expect(try await process.rounds.round() == 0, "the space rests for an hour")
    process.clock.change { $0 += Self.hour }
    #expect(try await process.rounds.round() == 1)
    #expect(process.secrets.read.value.count == 12)
  }

  @Test("A round forgets all that is too old, a part in each transaction")
  func large() async throws {
    let process = try Self.process()
    let records: [StoredRecord] = (1...2 * SpaceRows.step + 5).map { number in
      let record = ServerRecord(
        id: RecordID(type: "Todo", id: "\(number)"), container: "Todo", version: "\(number)", modified: 1,
        isDeleted: true, fields: .empty)
      return StoredRecord(position: Int64(number), record: record)
    }
    try await process.storage.write(space: "s") { try $0.put(records) }
    #expect(try await process.rounds.round() == 1)
    process.clock.change { $0 += 91 * Self.day }
    // The second look finds nothing more.
    #expect(try await process.rounds.round() == 2)
    #expect(try await process.storage.statistics(of: "s").tombstones == 0)
  }

  @Test("A round completes the indexes of the schema at its time")
  func schema() async throws {
    let (storage, clock) = (try SQLiteServerStorage(), Locked(Self.start))
    let current = Locked(SyncService(storage: storage, now: { clock.value }))
    let configuration = ServerConfiguration(
      storage: storage, logger: LogUnderTest().logger(), now: { clock.value })
    let rounds = UpkeepRounds(
      { current.value }, configuration, metrics: MetricsRegistry(), pace: UpkeepPace(interval: Self.hour))
    var states: [FieldIndexState] = []
    for position in Int64(1)...2 {
      let record = ServerRecord(
        id: RecordID(type: "Todo", id: "1"), container: "Todo", version: "\(position)", modified: 1,
        fields: FieldsDocument(["title": "t"]))
      try await storage.write(space: "s") { try $0.put([StoredRecord(position: position, record: record)]) }
      #expect(try await rounds.round() == 1)
      states.append(try await storage.read(space: "s") { $0.fieldIndexes })
      let title = FieldSchema("title", .text, indexed: true)
      current.change { $0.rules.schema = StoreSchema(types: [TypeSchema("Todo", fields: [title])]) }
      clock.change { $0 += Self.hour }
    }
    #expect(states.map(\.position) == [0, 2])
  }

  /// Promises: A-32
  @Test("Two processes look after each space once in a period")
  func shared() async throws {
    let storage = try SQLiteServerStorage()
    let clock = Locked(Self.start)
    let processes = [Process(storage, clock, batch: 2), Process(storage, clock, batch: 2)]
    try await Self.share(processes, clock)
  }

  @Test(
    "Two processes on PostgreSQL look after each space once in a period",
    .enabled(if: PostgresUnderTest.url != nil, PostgresUnderTest.hint))
  func sharedPostgres() async throws {
    try await PostgresUnderTest.with { storage in
      let clock = Locked(Self.start)
      try await Self.share([Process(storage, clock, batch: 2), Process(storage, clock, batch: 2)], clock)
    }
  }

  private static func share(_ processes: [Process], _ clock: Locked<Int64>) async throws {
    for period in Int64(1)...3 {
      for number in 0..<20 { try await processes[0].write("s\(number)", period) }
      // A process that loses all spaces of a look to the other ends its round, so several rounds may be needed.
      var count = 0
      while try await processes[0].storage.dueCount(at: clock.value, limit: 1) > 0 {
        count += try await withThrowingTaskGroup(of: Int.self) { tasks in
          for process in processes { tasks.addTask { try await process.rounds.round() } }
          return try await tasks.reduce(0, +)
        }
      }
      #expect(count == 20)
      for process in processes { #expect(try await process.rounds.round() == 0) }
      clock.change { $0 += hour }
    }
    #expect(processes.map(\.errors) == [0, 0])
    let read = processes.flatMap(\.secrets.read.value)
    #expect(read.count == 60)
  }

  /// Promises: A-32
  @Test("The spaces of a crashed process are looked after when its lease is over")
  func crashed() async throws {
    let process = try Self.process()
    try await process.write("s")
    let lease = UpkeepPace(interval: Self.hour).lease
    #expect(try await process.storage.takeDue(at: Self.start, limit: 9, lease: lease).count == 1)
    #expect(try await process.rounds.round() == 0)
    process.clock.change { $0 += lease }
    #expect(try await process.rounds.round() == 1)
    #expect(try await process.rounds.round() == 0)
  }

  @Test("A failing space stops no other, is logged once and put off")
  func failing() async throws {
    let process = try Self.process(batch: 2)
    process.secrets.broken.value = ["s1"]
    for number in 0..<5 { try await process.write("s\(number)") }
    #expect(try await process.rounds.round() == 5)
    #expect(process.errors == 1)
    #expect(process.log.lines.first { $0.level == .error }?.metadata["space"]?.contains("s1") == true)
    for number in [0, 2, 3, 4] {
      #expect(try await process.storage.position(of: "s\(number)", markedBefore: Self.start) == 1)
    }
    // An hour, two hours and four hours later, even if the space changes.
    var tried: [Int] = []
    for number in 1...12 {
      process.clock.change { $0 += Self.hour }
      try await process.write("s1", Int64(number + 1))
      if try await process.rounds.round() == 1 { tried.append(number) }
    }
    #expect(tried == [1, 3, 7])
    #expect(process.errors == 1)
    process.secrets.broken.value = []
    process.clock.change { $0 += Self.day }
    #expect(try await process.rounds.round() == 1)
    #expect(try await process.storage.position(of: "s1", markedBefore: process.clock.value) == 13)
    process.secrets.broken.value = ["s1"]
    try await process.write("s1", 99)
    process.clock.change { $0 += Self.day }
    #expect(try await process.rounds.round() == 1)
    #expect(process.errors == 2, "a failure after a success is logged again")
  }

  @Test("Secrets are read once a day at most, and only after a change")
  func secrets() async throws {
    let process = try Self.process()
    process.secrets.held.value = [RecordID(type: "Todo", id: "1")]
    try await process.write("s")
    var read: [Int] = []
    for number in 0..<96 {
      if number < 30 { try await process.write("s", Int64(number + 2)) }
      let before = process.secrets.read.value.count
      _ = try await process.rounds.round()
      if process.secrets.read.value.count > before { read.append(number) }
      process.clock.change { $0 += Self.hour }
    }
    #expect(read == [0, 24, 48])
    // The record's deletion takes the secret along, a day later at most.
    try await process.write("s", 99, isDeleted: true)
    _ = try await process.rounds.round()
    #expect(process.secrets.held.value.isEmpty)
  }

  @Test("The daily sweep keeps uploads that no record names for a week")
  func sweeps() async throws {
    let time = VirtualTime()
    let storage = try SQLiteServerStorage()
    let blobs = try S3BlobStorage.under(FakeS3(time: time), time)
    var configuration = ServerConfiguration(
      storage: storage, logger: LogUnderTest().logger(), now: { time.now })
    configuration.blobs = blobs
    let service = SyncService(storage: storage, blobs: blobs, now: { time.now })
    let rounds = UpkeepRounds(
      { service }, configuration, metrics: MetricsRegistry(), pace: UpkeepPace(interval: Self.hour))
    try await blobs.upload(blobBytes(), in: "hut")
    var days = 0
    while await blobs.hasUnnamed(in: "hut"), days < 20 {
      time.advance(by: Self.day)
      days += 1
      try await rounds.work()
    }
    #expect(days == 8)
  }

  @Test("A failed sweep is repeated with growing waits, and logged once")
  func failedSweep() async throws {
    let time = VirtualTime()
    let (bucket, log, allowed) = (FakeS3(time: time), LogUnderTest(), Locked(1000))
    let storage = try SQLiteServerStorage()
    let blobs = try S3BlobStorage.under(bucket, time) { _ in
      var isAllowed = false
      allowed.change {
        isAllowed = $0 > 0
        $0 -= 1
      }
      return isAllowed ? .none : .refused(403, "AccessDenied")
    }
    var configuration = ServerConfiguration(storage: storage, logger: log.logger(), now: { time.now })
    configuration.blobs = blobs
    let service = SyncService(storage: storage, blobs: blobs, now: { time.now })
    let rounds = UpkeepRounds(
      { service }, configuration, metrics: MetricsRegistry(), pace: UpkeepPace(interval: Self.hour))
    try await blobs.upload(blobBytes(), in: "hut")
    /// Returns true if the sweep was taken.
    func work(requests: Int) async throws -> Bool {
      bucket.forgetRequests()
      allowed.value = requests
      try await rounds.work()
      return bucket.requests.contains { $0.hasPrefix("PUT swept") }
    }
    // The look takes two requests, and the mark one or two. The listing of the sweep fails then.
    #expect(try await work(requests: 3))
    var tried: [Int] = []
    for number in 1...12 {
      time.advance(by: Self.hour)
      if try await work(requests: 4) { tried.append(number) }
    }
    #expect(tried == [1, 3, 7])
    #expect(log.lines.filter { $0.level == .error }.count == 1)
    time.advance(by: Self.day)
    #expect(try await work(requests: 1000))
    tried = []
    for number in 1...25 {
      time.advance(by: Self.hour)
      if try await work(requests: 1000) { tried.append(number) }
    }
    #expect(tried == [24])
  }

  @Test("Metrics have the spaces that are due, their lag, and the results")
  func metrics() async throws {
    let process = try Self.process(batch: 2)
    process.secrets.broken.value = ["s1"]
    for number in 0..<5 { try await process.write("s\(number)") }
    process.clock.change { $0 += 30_000 }
    let seen = Locked<[String]>([])
    let metrics = process.metrics
    var pace = UpkeepPace(interval: Self.hour)
    pace.batch = 2
    var rules = AccessRules()
    rules.secretVault = process.secrets
    let clock = process.clock
    let configuration = ServerConfiguration(
      storage: process.storage, rules: rules, logger: process.log.logger(), now: { clock.value })
    let service = SyncService(storage: process.storage, rules: rules, now: { clock.value })
    let rounds = UpkeepRounds(
      { service }, configuration, metrics: metrics, pace: pace,
      pause: { _ in seen.change { $0.append(metrics.prometheusText) } })
    clock.change { $0 += 30_000 }
    #expect(try await rounds.round() == 5)
    #expect(seen.value.count == 2)
    #expect(seen.value.first?.contains("bothy_upkeep_due_spaces 5\n") == true)
    #expect(seen.value.last?.contains("bothy_upkeep_due_spaces 3\n") == true)
    #expect(seen.value.first?.contains("bothy_upkeep_lag_seconds 30\n") == true)
    let text = metrics.prometheusText
    for line in [
      "bothy_upkeep_due_spaces 0", "bothy_upkeep_lag_seconds 0",
      #"bothy_upkeep_spaces_total{result="done"} 4"#, #"bothy_upkeep_spaces_total{result="failed"} 1"#,
    ] {
      #expect(text.contains(line + "\n"), "\(line)")
    }
  }

  @Test("A storage that is away is logged once, and later rounds go on")
  func away() async throws {
    let log = LogUnderTest()
    let configuration = ServerConfiguration(
      storage: AbsentStorage(), logger: log.logger(), now: { Self.start })
    let service = SyncService(storage: AbsentStorage(), now: { Self.start })
    let rounds = UpkeepRounds(
      { service }, configuration, metrics: MetricsRegistry(), pace: UpkeepPace(interval: Self.hour))
    for _ in 0..<3 { try await rounds.work() }
    #expect(log.lines.filter { $0.level == .error }.count == 1)
  }

  @Test("The pace follows the interval within bounds, and varies by half")
  func pace() {
    #expect(UpkeepPace(interval: Self.hour).poll == .seconds(60))
    #expect(UpkeepPace(interval: 20_000).poll == .seconds(5))
    #expect(UpkeepPace(interval: 1000).poll == .seconds(1))
    let waits = (0..<200).map { _ in UpkeepPace(interval: Self.hour).wait() }
    #expect(waits.allSatisfy { (.seconds(30) ... .seconds(90)).contains($0) })
    #expect(Set(waits).count > 100)
  }
}

/// A storage that can't be reached.
private struct AbsentStorage: ServerMaintenance {
  private let problem = StorageUnavailable(.unreachable, "away")
  let identity = ""

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { throw problem }
  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result { throw problem }
  func spaces() async throws -> [String] { throw problem }
  func statistics(of space: String) async throws -> SpaceStatistics { throw problem }
  func users(of space: String) async throws -> [UserStatistics] { throw problem }
  func remove(space: String) async throws { throw problem }
  func startEpoch(space: String) async throws { throw problem }
  func compact(space: String, upTo position: Int64) async throws { throw problem }
  func position(of space: String, markedBefore time: Int64) async throws -> Int64 { throw problem }
  func acknowledge(
    space: String, device: String, _ progress: [DeviceProgress], at time: Int64
  ) async throws -> Bool { throw problem }
  func acknowledged(space: String, since time: Int64) async throws -> Int64? { throw problem }
  func takeDue(at time: Int64, limit: Int, lease: Int64) async throws -> [DueSpace] { throw problem }
  func dueCount(at time: Int64, limit: Int) async throws -> Int { throw problem }
  func putOff(_ due: DueSpace, until time: Int64) async throws { throw problem }
  func makeDue(space: String) async throws { throw problem }
  func lastCollection(of space: String) async throws -> BlobCollection? { throw problem }
  func maintain(space: String, _ turn: MaintenanceTurn) async throws -> RetentionReport? { throw problem }
}
