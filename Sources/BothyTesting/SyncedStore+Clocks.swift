public import BothyStore
public import BothySync

extension SyncedStore {
  /// Opens a store in memory whose time of day and waits a test moves.
  ///
  /// ```swift
  /// let (time, clock) = (VirtualTime(), VirtualClock())
  /// let store = try SyncedStore.inMemory([Todo.self], remote: server, time: time, clock: clock)
  /// let running = Task { await store.run() }
  /// await clock.waitForSleepers()  // the app waits to try again
  /// clock.advance(by: .seconds(2))
  /// ```
  ///
  /// Time limits of single requests are in real time.
  ///
  /// - Parameters:
  ///   - configuration: the options. By default it syncs only when the test calls for it.
  ///   - time: the device's time of day, which dates the edits.
  ///   - clock: the clock of `run()`, of waits for locks and of `SaveReceipt.result(within:)`.
  /// - Throws: `BothyError` for a schema that can't be opened.
  public static func inMemory(
    _ schema: StoreSchema, remote: any RemoteStorage, configuration: SyncOptions = .quiet,
    time: VirtualTime, clock: VirtualClock
  ) throws -> SyncedStore {
    var configuration = configuration
    configuration.clock = clock
    return try SyncedStore(
      at: nil, schema: schema, remote: remote, configuration: configuration,
      clock: SyncClock(now: time.reader()))
  }
}
