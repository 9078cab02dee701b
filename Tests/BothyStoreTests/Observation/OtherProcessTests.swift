import BothyStore
import BothyTestSupport
import Foundation
import Testing

@Suite(.timeLimit(.minutes(10)))
struct OtherProcessTests {
  let folder: TemporaryFolder

  init() throws { folder = try TemporaryFolder() }

  private var signals: String { folder.database + "-signals" }

  private func open(_ options: StoreOptions = StoreOptions(durability: .normal)) throws -> LocalStore {
    try LocalStore(at: folder.database, schema: todoSchema, options: options)
  }

  @Test("Stores on one file see each other's commits")
  func twoStores() async throws {
    let (one, two) = (try open(), try open())
    try await withDeadline {
      var atOne = one.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
      var atTwo = two.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
      #expect(try await atOne.next() == .some(nil))
      #expect(try await atTwo.next() == .some(nil))
      try await one.write { try $0.insert(Todo("a", "from one")) }
      #expect(try await atTwo.next() == "from one")
      #expect(try await atOne.next() == "from one")
      try await two.write { try $0.update(Todo.self, id: "a") { $0.title = "from two" } }
      #expect(try await atOne.next() == "from two")
    }
  }

  @Test(
    "A store stops writing once another has converted the file to a newer schema", arguments: [true, false])
  func converted(isNewField: Bool) throws {
    func open(_ version: Int, _ fields: [FieldSchema]) throws -> LocalStore {
      let item = TypeSchema("Item", fields: [FieldSchema("name", .text)] + fields, synced: false)
      return try LocalStore(at: folder.database, schema: StoreSchema(version: version, types: [item]))
    }
    let old = try open(1, isNewField ? [] : [FieldSchema("size", .int, optional: true)])
    try old.write { try $0.insert(AnyRecord("Item", id: "a", ["name": "before"])) }
    let new = try open(2, [FieldSchema("size", .int, default: 3)])
    for _ in 0..<2 {
      expect(.newerFile) { try old.write { try $0.insert(AnyRecord("Item", id: "b", ["name": "late"])) } }
    }
    try new.write { try $0.insert(AnyRecord("Item", id: "c", ["name": "after"])) }
    #expect(try new.fetch(AnyQuery("Item")).map { $0["size"] } == [3, 3])
  }

  /// Opens the file as a newer app does, which converts it.
  private func openNewer() throws -> LocalStore {
    try LocalStore(
      at: folder.database, schema: StoreSchema(version: 2, types: todoSchema.types),
      options: StoreOptions(durability: .normal))
  }

  @Test("A store stops reading once another has converted the file to a newer schema")
  func convertedBeforeReads() throws {
    let old = try open()
    try old.write { try $0.insert(Todo("a", "before")) }
    #expect(try old.fetch(Todo.self, id: "a")?.title == "before")
    let new = try openNewer()
    for id in ["a", "b"] {
      expect(.newerFile) { _ = try old.fetch(Todo.self, id: id) }
      expect(.newerFile) { _ = try old.record(RecordID(type: "Todo", id: id)) }
    }
    let diagnosis = try new.diagnose()
    expect(.newerFile) { _ = try old.repair(diagnosis) }
    #expect(try new.fetch(Todo.self, id: "a")?.title == "before")
  }

  @Test("A look-up names the newer schema that lacks its table")
  func convertedTable() throws {
    let old = try open()
    try openNewer().tamper("ALTER TABLE Tag RENAME TO Label")
    expect(.newerFile) { _ = try old.fetch(Tag.self, id: "a") }
  }

  @Test("An observation ends once another store has converted the file to a newer schema")
  func convertedWhileObserved() async throws {
    let old = try open()
    try await old.write { try $0.insert(Todo("a", "before")) }
    var titles = old.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
    #expect(try await titles.next() == "before")
    let new = try openNewer()
    try await new.write { try $0.update(Todo.self, id: "a") { $0.title = "after" } }
    let observed = await #expect(throws: BothyError.self) {
      while try await titles.next(isolation: nil) != nil {}
    }
    #expect(observed?.code == .newerFile)
    let read = await #expect(throws: BothyError.self) {
      try await old.read { try $0.count(Todo.all) }
    }
    #expect(read?.code == .newerFile)
  }

  @Test("A commit of another process is seen")
  func realProcess() async throws {
    let store = try open()
    try await store.write { try $0.insert(Todo("a", "here")) }
    let (path, signals) = (folder.database, signals)
    try await withDeadline {
      var states = store.values(of: Todo.self, id: "a", \.done).makeAsyncIterator()
      #expect(try await states.next() == false)
      let process = Process()
      process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
      process.arguments = [
        "python3", "-c",
        """
        import os, sqlite3, sys
        database = sqlite3.connect(sys.argv[1])
        with database: database.execute("UPDATE Todo SET done = 1 WHERE _id = 'a'")
        file = os.open(sys.argv[2] + "/python", os.O_CREAT | os.O_RDWR)
        os.pwrite(file, b"1", 0)
        """, path, signals,
      ]
      try process.run()
      #expect(try await states.next() == true)
      process.waitUntilExit()
      #expect(process.terminationStatus == 0)
    }
  }

  @Test("The folder may be deleted while it is watched")
  func folderDeleted() async throws {
    let (one, two) = (try open(), try open())
    try await one.write { try $0.insert(Todo("a", "0")) }
    try await withDeadline { [folder, signals] in
      var titles = two.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
      #expect(try await titles.next() == "0")
      for number in 1...5 {
        // The watcher may recreate its file before the folder is removed. Then only the files were deleted.
        try? FileManager.default.removeItem(atPath: signals)
        try await until { !folder.names(in: signals).isEmpty }
        try await one.write { try $0.update(Todo.self, id: "a") { $0.title = "\(number)" } }
        #expect(try await titles.next() == "\(number)")
      }
    }
  }

  @Test("Each store has one signal file while it is open, and none afterwards")
  func files() throws {
    let (one, two) = (try open(), try open())
    #expect(folder.names(in: signals).isEmpty)
    try one.write { try $0.insert(Todo("a")) }
    try two.write { try $0.insert(Todo("b")) }
    #expect(folder.names(in: signals).count == 2)
    try one.close()
    #expect(folder.names(in: signals).count == 1)
    try two.close()
    #expect(!FileManager.default.fileExists(atPath: signals))
  }

  @Test("Opening a store removes files of dead processes and keeps those of others")
  func staleFiles() throws {
    let living = try open()
    try living.write { try $0.insert(Todo("a")) }
    let kept = folder.names(in: signals)
    #expect(FileManager.default.createFile(atPath: signals + "/stale", contents: Data()))
    let other = try open()
    #expect(folder.names(in: signals) == kept)
    try other.close()
  }

  @Test("A store that is the only writer creates no signal files")
  func single() throws {
    var options = StoreOptions()
    options.processes = .single
    let store = try open(options)
    try store.write { try $0.insert(Todo("a")) }
    #expect(!FileManager.default.fileExists(atPath: signals))
  }

  @Test("Watching leaks no descriptors")
  func descriptors() async throws {
    try await cycle()
    let before = leftDescriptors()
    for _ in 0..<20 { try await cycle() }
    // Stores of other tests may lose their folders at the same time.
    try await until { leftDescriptors() < before + 10 }
  }

  /// Returns the number of this process's descriptors of files in the folder, and of those that watch nothing.
  ///
  /// A watch ends with its folder, which a store deletes when it is closed.
  private func leftDescriptors() -> Int {
    folder.names(in: "/proc/self/fd").count { name in
      // It may be closed meanwhile.
      let file = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(name)")
      guard file == "anon_inode:inotify" else { return file?.hasPrefix(folder.path) == true }
      let state = try? String(contentsOfFile: "/proc/self/fdinfo/\(name)", encoding: .utf8)
      return state?.contains("inotify wd:") == false
    }
  }

  private func cycle() async throws {
    let store = try open()
    var iterator = store.values(of: Todo.self, id: "a").makeAsyncIterator()
    _ = try await iterator.next()
    try await store.write { try $0.save(Todo("a", "x")) }
    try store.close()
  }

  @Test("Polling sees commits of programs without signals at each tick of the clock")
  func polling() async throws {
    let clock = ManualClock()
    let silent = try open(StoreOptions(processes: .single))
    let store = try open(StoreOptions(processes: .polled(every: .seconds(1)), clock: clock))
    try await withDeadline {
      var titles = store.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
      #expect(try await titles.next() == .some(nil))
      for number in 1...3 {
        try await silent.write { try $0.save(Todo("a", "\(number)")) }
        try await until { clock.sleeperCount == 1 }
        clock.advance(by: .seconds(1))
        #expect(try await titles.next() == "\(number)")
      }
    }
  }

  @Test("Commits are polled if the folder can't be created")
  func fallback() async throws {
    #expect(FileManager.default.createFile(atPath: signals, contents: Data()))
    let clock = ManualClock()
    let other = try open()
    let store = try open(StoreOptions(clock: clock))
    try await withDeadline {
      var titles = store.values(of: Todo.self, id: "a", \.title).makeAsyncIterator()
      #expect(try await titles.next() == .some(nil))
      try await other.write { try $0.save(Todo("a", "seen")) }
      try await until { clock.sleeperCount == 1 }
      clock.advance(by: .seconds(1))
      #expect(try await titles.next() == "seen")
    }
  }
}
