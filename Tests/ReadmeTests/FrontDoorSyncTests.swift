import Bothy
import BothySyncService
import BothyTesting
import Foundation
import Testing

/// Everyday tasks with a server: verdicts, policies, rejected changes, conflicts and groups.
@Suite("Everyday tasks with a server, written as a newcomer writes them", .timeLimit(.minutes(5)))
struct FrontDoorSyncTests {
  typealias Todo = FrontDoorTests.Todo
  typealias TodoList = FrontDoorTests.TodoList

  let server: SyncService
  let store: SyncedStore
  let other: SyncedStore
  let otherRemote: FaultyRemote

  init() throws {
    var rules = AccessRules()
    rules.recordSizeLimit = 300
    server = SyncService(storage: try SQLiteServerStorage(), rules: rules, now: VirtualTime().reader())
    store = try SyncedStore.inMemory([TodoList.self, Todo.self], remote: InProcessRemote(server))
    otherRemote = FaultyRemote(InProcessRemote(server))
    other = try SyncedStore.inMemory([TodoList.self, Todo.self], remote: otherRemote)
  }

  private let tooLong = String(repeating: "long ", count: 80)

  @Test("A receipt waits for the verdict and returns the record") func verdict() async throws {
    let receipt = try await store.save(Todo(title: "Wax"))
    #expect(receipt.state == .pending(.insert))
    let result = try await receipt.result()
    switch result.verdict {
    case .accepted, .merged: #expect(result.record?.title == "Wax" && result.origin == .remote)
    case .replaced: Issue.record("Someone else was first. Yours was: \(result.overwritten?.title ?? "-")")
    case .rejected(let rejection): Issue.record("\(rejection.message)")
    }
    let again = try await store.outbox.receipt(for: result.record ?? Todo(title: "")).result(
      within: .seconds(5))
    #expect(again.verdict == result.verdict && again.record == result.record)

    let refused = try await store.save(Todo(title: tooLong)).result()
    guard case .rejected(let rejection) = refused.verdict else {
      Issue.record("\(refused.verdict)")
      return
    }
    #expect(!rejection.message.isEmpty && refused.record?.title == tooLong && refused.origin == .local)
  }

  @Test("A conflict's verdict returns the local content that it replaced") func replaced() async throws {
    other.options.merging = MergePolicies(default: .remoteWins)
    try await store.save(Todo(id: "1", title: "start"))
    await store.sync()
    await other.sync()
    try await store.update(Todo.self, id: "1") { $0.title = "first" }
    await store.sync()
    let result = try await other.update(Todo.self, id: "1") { $0.title = "second" }.result()
    guard case .replaced = result.verdict else {
      Issue.record("\(result.verdict)")
      return
    }
    #expect(result.record?.title == "first" && result.overwritten?.title == "second")
    let entry = try #require(try other.journal.entries(losing: true).first)
    #expect(entry.verdict == result.verdict && entry.policy == "remoteWins")
    #expect(try other.journal.overwritten(Todo.self, in: entry)?.title == "second")
    try await other.journal.restore(entry)
    #expect(try await other.fetch(Todo.self, id: "1", policy: .local)?.title == "second")
  }

  @Test("Without a server a result is an error, and the write stays pending") func offline() async throws {
    otherRemote.isOffline = true
    let receipt = try await other.save(Todo(id: "1", title: "Wax"))
    let error = await #expect(throws: BothyError.self) { try await receipt.result(within: .seconds(1)) }
    #expect(error?.code == .unreachable)
    #expect(try await other.outbox.state(of: Todo(id: "1", title: "Wax")) == .pending(.insert))
    otherRemote.isOffline = false
    guard case .accepted = try await receipt.result().verdict else {
      Issue.record("another verdict")
      return
    }
    #expect(try await other.outbox.state(of: Todo(id: "1", title: "Wax")) == .synced)
  }

  @Test("Each call can have its own policy, and drafts wait for their release") func policies() async throws {
    try await store.save(Todo(id: "1", title: "there"), policy: .remote)
    let fresh = try await store.fetchResult(Todo.all, policy: .remoteElseLocal)
    #expect(fresh.origin == .remote && fresh.map(\.title) == ["there"])
    try await store.save(Todo(id: "2", title: "draft"), policy: .draft)
    try await store.write(policy: .draft) { try $0.insert(Todo(id: "3", title: "draft too")) }
    await store.sync()
    #expect(try await store.outbox.drafts().map(\.id.id) == ["2", "3"])
    #expect(try await store.outbox.pending().count == 2)
    try await store.outbox.release([Todo(id: "2", title: "")])
    try await store.outbox.release(RecordID(Todo.self, id: "3"))
    #expect(await store.sync().pushed == 2)
    #expect(try await store.outbox.drafts().isEmpty)
    otherRemote.isOffline = true
    let stale = try await other.fetchResult(Todo.all, policy: .remoteElseLocal)
    #expect(stale.origin == .local && stale.isEmpty)
  }

  @Test("A reference is fetched by a policy, or the error names its record") func references() async throws {
    let list = TodoList(id: "L", name: "Camp")
    let none = Reference<TodoList>(id: "none")
    try await store.save(list)
    await store.sync()
    #expect(try await other.fetch(Reference(list)) == nil, "the default reads this device alone")
    #expect(try await other.fetch(Reference(list), policy: .localElseRemote)?.name == "Camp")
    #expect(try await other.fetch(none, policy: .localElseRemote) == nil)
    otherRemote.isOffline = true
    #expect(try await other.fetch(Reference(list), policy: .remoteElseLocal)?.name == "Camp")
    let error = await #expect(throws: BothyError.self) {
      try await other.fetch(none, policy: .localElseRemote)
    }
    #expect(error?.code == .relatedRecordUnavailable && error?.record == RecordID(TodoList.self, id: "none"))
  }

  @Test("A transaction that is sent first reaches the server before it returns") func sentFirst() async throws
  {
    try await store.write(.atomic, policy: .remoteThenLocal) { tx in
      try tx.insert(Todo(id: "1", title: "a"))
      try tx.insert(Todo(id: "2", title: "b"))
    }
    #expect(try await store.outbox.pending().isEmpty)
    await other.sync()
    #expect(try await other.fetch(Todo.all, policy: .local).map(\.title) == ["a", "b"])
    otherRemote.isOffline = true
    try await other.write(policy: .remoteThenLocal) { try $0.insert(Todo(id: "3", title: "c")) }
    #expect(try await other.outbox.pending().map(\.id.id) == ["3"])
  }

  @Test("Rejected changes are listed with reasons, and decided about") func rejected() async throws {
    try await store.save([Todo(id: "1", title: tooLong), Todo(id: "2", title: "fine")])
    let report = await store.sync()
    #expect(report.rejected.count == 1 && report.pushed == 1)
    let entries = try await store.outbox.rejected()
    #expect(entries.map(\.id.id) == ["1"])
    for entry in entries {
      guard case .rejected(let rejection) = entry.state else {
        Issue.record("\(entry.state)")
        continue
      }
      #expect(!rejection.message.isEmpty)
      try await store.update(Todo.self, id: "1") { $0.title += "!" }
      #expect(try await store.outbox.resolve(entry, .revert).isEmpty, "it was edited since it was read")
    }
    #expect(try await store.outbox.state(of: Todo(id: "1", title: "")) == .pending(.insert))
    await store.sync()
    guard case .rejected = try await store.outbox.state(of: Todo(id: "1", title: "")) else {
      Issue.record("another state")
      return
    }
    let now = try #require(try await store.outbox.rejected().first)
    #expect(try await store.outbox.resolve([now, now], .revert) == [RecordID(Todo.self, id: "1")])
    #expect(try await store.fetch(Todo.self, policy: .local).map(\.title) == ["fine"])
  }

  @Test("Subscriptions, audiences, blobs and maintenance are groups of the store") func groups() async throws
  {
    try await store.save(Todo(id: "1", title: "a"), in: "trips/oslo")
    try await store.save(Todo(id: "2", title: "b"), in: "trips/rome")
    await store.sync()
    try await store.sharing.share(Todo(id: "1", title: ""), with: .users("ann", "ben"))
    #expect(try await store.sharing.audience(of: Todo(id: "1", title: "")).users == ["ann", "ben"])

    #expect(store.subscriptions.current == [.everything])
    try await other.subscriptions.set([.container("trips/oslo")])
    await other.sync()
    #expect(try await other.fetch(Todo.self, policy: .local).map(\.id) == ["1"])
    try await other.subscriptions.add(.container("trips/rome"))
    #expect(try await !other.subscriptions.isComplete(.container("trips/rome")))
    await other.sync()
    #expect(try await other.subscriptions.isComplete(.container("trips/rome")))
    #expect(try await other.subscriptions.remove(.container("trips/oslo")) == 1)
    #expect(try await other.fetch(Todo.self, policy: .local).map(\.id) == ["2"])

    await store.sync()
    #expect(try await store.maintenance.verify())
    #expect(try await store.maintenance.remove(Todo.where { $0.title == "b" }) == 1)
    #expect(try await !store.maintenance.verify())
    await store.sync()
    #expect(try await store.maintenance.verify())
    #expect(try await !store.maintenance.syncHistory().isEmpty)
    let imported = try await store.maintenance.importRecords([AnyRecord(Todo(id: "3", title: "from a file"))])
    #expect(imported.inserted == 1)
    let metadata = try await store.read { try $0.metadata(of: RecordID(Todo.self, id: "3")) }
    #expect(metadata?.modified != nil && metadata?.owner == nil)
    var titles: [String] = []
    for try await todo in store.records(Todo.order(by: \.title), pageSize: 1) { titles.append(todo.title) }
    #expect(titles == ["a", "b", "from a file"])
    await #expect(throws: BothyError.self) { try await store.maintenance.reset() }
    try await store.maintenance.reset(discardingPending: true)
    #expect(try await store.count(Todo.self) == 0)
  }

  @Test("A sync's obstacle is one word, and the status counts what is pending") func obstacle() async throws {
    otherRemote.isOffline = true
    try await other.save(Todo(title: "Wax"))
    let report = await other.sync()
    #expect(report.obstacle == .unreachable && report.message?.isEmpty == false)
    for await status in other.statuses where !status.isSyncing {
      #expect(status.pendingCount == 1 && status.rejectedCount == 0 && status.obstacle == .unreachable)
      break
    }
    otherRemote.isOffline = false
    #expect(await other.sync().obstacle == nil)
    #expect(other.status.pendingCount == 0 && other.status.lastSync != nil)
  }

  @Test("A typed rule decides a conflict, and the journal has what it replaced") func rules() async throws {
    other.options.merging.set(for: Todo.self) { conflict in
      guard var merged = conflict.suggestion else { return .remote }
      merged.priority = max(conflict.local?.priority ?? 0, conflict.remote?.priority ?? 0)
      merged.title = conflict.remote?.title ?? merged.title
      return .merged(merged)
    }
    try await store.save(Todo(id: "1", title: "start"))
    await store.sync()
    await other.sync()
    try await store.update(Todo.self, id: "1") { ($0.title, $0.priority) = ("first", 2) }
    await store.sync()
    let mine = try await other.update(Todo.self, id: "1") { ($0.title, $0.priority) = ("second", 5) }
    let result = try await mine.result()
    #expect(result.record?.title == "first" && result.record?.priority == 5 && result.origin == .merged)
    let entries = try await other.journal.entries(for: Todo(id: "1", title: ""))
    let entry = try #require(entries.first { !$0.lostFields.isEmpty })
    #expect(entry.lostFields.map(\.name) == ["title"] && entry.date.timeIntervalSince1970 > 0)
    #expect(entry.policy == "Todo")
    #expect(try other.journal.overwritten(Todo.self, in: entry)?.title == "second")
    try await other.journal.restore(entry)
    #expect(try await other.fetch(Todo.self, id: "1", policy: .local)?.title == "second")
  }

  @Test("An error has a code to branch on and the server's reason") func errors() async throws {
    otherRemote.isOffline = true
    do {
      try await other.save(Todo(title: ""), policy: .remote)
      Issue.record("It was saved.")
    } catch let error as BothyError where error.code == .unreachable {
      #expect(!error.message.isEmpty && "\(error)" == error.message)
    }
    let error = await #expect(throws: BothyError.self) {
      try await store.save(Todo(id: "1", title: tooLong), policy: .remote)
    }
    #expect(error?.code == .rejected && error?.record == RecordID(Todo.self, id: "1"))
    #expect(error?.rejection?.message.isEmpty == false)
  }

  @Test("A blob is added, saved in a record, and read on another device") func blobs() async throws {
    let photo = try await store.blobs.add(Data("a picture".utf8), contentType: "image/jpeg")
    #expect(
      try await store.blobs.data(for: photo) == Data("a picture".utf8) && photo.contentType == "image/jpeg")
  }
}
