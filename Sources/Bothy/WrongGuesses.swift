public import BothyProtocol
public import BothyStore
public import BothySync

// Likely wrong guesses, answered by the compiler with the right call. No symbol here is ever called.

extension SyncedStore {
  @available(*, unavailable, message: "Name the sync options: `configuration: options`.")
  public convenience init(
    at path: String?, schema: StoreSchema, remote: any RemoteStorage, options: SyncOptions
  ) throws { try self.init(at: path, schema: schema, remote: remote, configuration: options) }
  @available(*, unavailable, message: "Name the sync options: `configuration: options`.")
  public convenience init(
    named name: String, schema: StoreSchema, remote: any RemoteStorage, options: SyncOptions
  ) throws { try self.init(named: name, schema: schema, remote: remote, configuration: options) }
  @available(
    *, unavailable,
    message: "Name the record: `update(Todo.self, id: id) { … }`. To change all: `update(Todo.all) { … }`."
  )
  public func update<E: Entity>(_ type: E.Type, _ change: (inout E) throws -> Void) async throws {}
  @available(*, unavailable, message: "To delete every record of the type, use `delete(Todo.all)`.")
  public func delete<E: Entity>(_ type: E.Type) async throws {}
  @available(*, unavailable, message: "To delete every record of the type, use `delete(Todo.all)`.")
  public func deleteAll<E: Entity>(_ type: E.Type) async throws {}
  @available(*, unavailable, message: "Put the condition in a query: `delete(Todo.where { $0.done })`.")
  public func delete<E: Entity>(_ type: E.Type, where condition: (E.Fields) -> Condition) async throws {}
  @available(*, unavailable, message: "Put the condition in a query: `delete(Todo.where { $0.done })`.")
  public func delete<E: Entity>(_ type: E.Type, where field: (E.Fields) -> Field<Bool>) async throws {}
  @available(*, unavailable, message: "Name the type too: `delete(Todo.self, id: id)`.")
  public func delete(_ id: String) async throws {}
  @available(*, unavailable, renamed: "delete(_:)")
  public func remove<E: Entity>(_ record: E) async throws {}
  @available(*, unavailable, renamed: "save(_:)")
  public func upsert<E: Entity>(_ record: E) async throws {}
  @available(*, unavailable, renamed: "insert(_:)")
  public func create<E: Entity>(_ record: E) async throws {}
  @available(*, unavailable, renamed: "insert(_:)")
  public func add<E: Entity>(_ record: E) async throws {}
  @available(*, unavailable, renamed: "save(_:)")
  public func saveAll<E: Entity>(_ records: [E]) async throws {}
  @available(*, unavailable, renamed: "save(_:in:policy:)")
  public func insert<E: Entity>(_ records: [E]) async throws {}
  @available(
    *, unavailable,
    message: "Save records of one type as an array: `save([a, b])`. For several types, use `write { … }`."
  )
  public func save<A: Entity, B: Entity>(_ first: A, _ second: B) async throws {}
  @available(*, unavailable, renamed: "write(_:)")
  public func transaction<Result: Sendable>(
    _ body: @escaping @Sendable (WriteTransaction) throws -> Result
  ) async throws -> Result { try await write(.independent, body) }
  @available(
    *, unavailable,
    message: "Move it in a transaction: `write { try $0.move(RecordID(todo), to: container) }`."
  )
  public func move<E: Entity>(_ record: E, to container: String) async throws {}
  @available(*, unavailable, message: "Use `outbox.state(of:)`.")
  public func state<E: Entity>(of record: E) async throws -> RecordState { .synced }
  @available(*, unavailable, message: "Use `outbox.receipt(for:)`.")
  public func receipt<E: Entity>(for record: E) throws -> SaveReceipt<E> { throw CancellationError() }
  @available(*, unavailable, message: "Use `maintenance.importRecords(_:)`.")
  public func importRecords(_ records: some Sequence<AnyRecord>) async throws {}
  @available(*, unavailable, message: "Use `maintenance.events`.")
  public var events: AsyncStream<[RecordChange]> { maintenance.events }
  @available(*, unavailable, message: "Use `maintenance.reports`.")
  public var reports: AsyncStream<SyncReport> { maintenance.reports }
  @available(*, unavailable, message: "Use `options.network`.")
  public var network: NetworkRules {
    get { options.network }
    set { options.network = newValue }
  }
  @available(*, unavailable, message: "Use `options.readPolicy`.")
  public var readPolicy: ReadPolicy {
    get { options.readPolicy }
    set { options.readPolicy = newValue }
  }
  @available(*, unavailable, message: "Use `options.writePolicy`.")
  public var writePolicy: WritePolicy {
    get { options.writePolicy }
    set { options.writePolicy = newValue }
  }
  @available(*, unavailable, message: "Use `options.merging`.")
  public var merging: MergePolicies {
    get { options.merging }
    set { options.merging = newValue }
  }
  @available(*, unavailable, message: "Use `options.isForeground`.")
  public var isForeground: Bool {
    get { options.isForeground }
    set { options.isForeground = newValue }
  }
  @available(*, unavailable, message: "Use `sync(.push)`.")
  public func push() async throws {}
  @available(*, unavailable, message: "Use `sync(.pull)`.")
  public func pull() async throws {}
  @available(*, unavailable, message: "Use `subscriptions.add(.container(\"trips\"))`.")
  public func subscribe(to container: String) async throws {}
}

extension StoreMaintenance {
  @available(
    *, unavailable,
    message:
      "The server has it: `bothy changes`. Decisions about local changes are in `journal.entries(for:)`."
  )
  public func history<E: Entity>(of record: E) async throws -> [JournalEntry] { [] }
}

extension Outbox {
  @available(*, unavailable, message: "Use `resolve(entry, .retry)`.")
  public func retry(_ entry: Entry) async throws {}
  @available(*, unavailable, message: "Use `resolve(entry, .revert)`.")
  public func revert(_ entry: Entry) async throws {}
}

extension Outbox.Entry {
  @available(*, unavailable, renamed: "id")
  public var record: RecordID { id }
  @available(
    *, unavailable, message: "Read it from the state: `if case .rejected(let rejection) = entry.state`."
  )
  public var rejection: Rejection? { nil }
}

extension SaveReceipt {
  @available(*, unavailable, message: "Wait for it: `receipt.result(within: .seconds(10)).verdict`.")
  public var verdict: Verdict { .accepted(version: "") }
  @available(*, unavailable, renamed: "result(within:)")
  public func result(timeout: Duration) async throws -> SaveResult<Value> {
    try await result(within: timeout)
  }
}

extension SyncReport {
  @available(*, unavailable, renamed: "rejected")
  public var failures: [RejectedChange] { rejected }
  @available(*, unavailable, message: "The journal has them: `store.journal.entries(losing: true)`.")
  public var decisions: [JournalEntry] { [] }
}

extension DecisionJournal {
  @available(*, unavailable, renamed: "entries(for:)")
  public func entries<E: Entity>(of record: E, losing: Bool = false) async throws -> [JournalEntry] { [] }
}

extension JournalEntry {
  @available(*, unavailable, renamed: "lostFields")
  public var overwrittenFields: [LostField] { lostFields }
}

extension StoreSubscriptions {
  @available(*, unavailable, renamed: "current")
  public var all: [SyncScope] { current }
  @available(*, unavailable, message: "Name the container: `add(.container(\"trips\"))`.")
  public func add(_ container: String) async throws {}
}

extension SharingControl {
  @available(*, unavailable, message: "Name the users: `share(todo, with: .users(\"ann\"))`.")
  public func share<E: Entity>(_ record: E, with user: String) async throws {}
}

extension MergePolicies {
  @available(*, unavailable, message: "Give the label: `MergePolicies(default: .localWins)`.")
  public init(
    _ policy: MergePolicy, inserts: MergePolicy? = nil, updates: MergePolicy? = nil,
    deletes: MergePolicy? = nil
  ) { self.init(default: policy, inserts: inserts, updates: updates, deletes: deletes) }
  @available(*, unavailable, message: "Write `MergePolicies(default: .fieldByField)`.")
  public static var fieldByField: MergePolicies { MergePolicies() }
  @available(*, unavailable, message: "Write `MergePolicies(default: .localWins)`.")
  public static var localWins: MergePolicies { MergePolicies() }
  @available(*, unavailable, message: "Write `MergePolicies(default: .remoteWins)`.")
  public static var remoteWins: MergePolicies { MergePolicies() }
  @available(*, unavailable, message: "Write `MergePolicies(default: .latestWins)`.")
  public static var latestWins: MergePolicies { MergePolicies() }
}

extension Resolution {
  @available(*, unavailable, renamed: "merged(_:)")
  public static func merge(_ record: E) -> Resolution { .merged(record) }
}
