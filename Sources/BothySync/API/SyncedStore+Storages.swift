package import BothyStore

/// The part of a synced store that storages and callbacks of older systems are built on.
extension SyncedStore {
  /// Creates the record or changes its given fields, container and audience, by the configured write policy. Makes one
  /// entry of the outbox in one transaction.
  package func persist(_ record: AnyRecord, _ sharing: Audience?) async throws {
    try await perform(.persist(record, sharing, edited: clock.correctedNow()), RequestOptions())
  }

  /// Requests a sync, without waiting for it.
  package func ask() { engine.ask() }

  /// Passes every sync that ends to `deliver`, in order, until the task is cancelled.
  ///
  /// The file stores the position of the reader under its name. The first report has what was decided since, as far as
  /// the journal has it.
  package func tellReports(as name: String, to deliver: (SyncReport) async -> Void) async {
    let (reader, hasWaited) = engine.reports.takeWaiting(name)
    defer { engine.reports.giveBack(reader, name) }
    var position = ReaderPosition(name: name, store: store, opened: engine.reports.decided)
    if let since = await position.catchUp(toNow: !hasWaited) { await deliver(since) }
    await position.keep()
    while let told = await reader.next() {
      await deliver(await position.completed(told))
      await position.keep()
    }
  }
}

extension LocalStore {
  /// Opens a file whose changes are pending for a later `SyncedStore`, without a remote.
  package static func recording(
    at path: String?, schema: StoreSchema, migrations: [Migration] = [], options: StoreOptions,
    clock: SyncClock
  ) throws -> LocalStore {
    try LocalStore(
      at: path, schema: schema, migrations: migrations, options: options, recorder: OutboxQueue(clock: clock))
  }
}

extension WriteTransaction {
  /// Creates the record or changes its given fields, container and audience. The change is pending.
  package func persist(_ record: AnyRecord, _ sharing: Audience?, edited: Int64) throws {
    try LocalChange.persist(record, sharing, edited: edited).apply(in: self)
  }
}
