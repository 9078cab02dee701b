/// The destination that a write reaches first.
///
/// Under `.remoteThenLocal` and `.remote` a rejection is thrown, and changes nothing here. Types that aren't
/// synced are written to the local file under every policy. Types that are written on the server only are never
/// queued.
///
/// ```swift
/// try await store.save(booking, policy: .remoteThenLocal)
/// store.options.writePolicy = .local  // for writes that name none
/// ```
public enum WritePolicy: String, Sendable, Hashable, CaseIterable {
  /// The local file; sent with the next sync.
  ///
  /// The write requests no sync. Under `run()` the trigger `.commit` still starts one a second later.
  case local
  /// The local file, durably. A running `SyncedStore.run()` sends it at once, else the next sync does. The default.
  case localThenRemote
  /// The server, then the local file. Without an answer the change is stored locally and pending.
  ///
  /// Costs one round trip, and readers see the change after it. A refused token, a busy server and a rejection
  /// are thrown, and a missing network isn't.
  case remoteThenLocal
  /// The server. Without an answer the write throws, and readers see nothing of it. If the server may have it, the
  /// journal has it without a verdict, and it is sent again before the next change of the record.
  case remote
  /// The local file; not sent before `Outbox.release`. Readers see the change at once.
  ///
  /// An earlier pending change of the record that isn't part of a transaction becomes a draft with it.
  case draft

  /// True if a write reaches the server before anything changes here.
  var sendsFirst: Bool { self == .remote || self == .remoteThenLocal }
}

extension SyncOptions {
  /// The treatment of a change that the server rejects permanently. It never applies to throttling, or to a
  /// missing network or token.
  ///
  /// ```swift
  /// var options = SyncOptions()
  /// options.rejectionPolicy = .discardAndRefetch
  /// ```
  public enum RejectionPolicy: Sendable, Hashable {
    /// The change stays pending and is tried again at growing intervals. It is listed as rejected. The default.
    ///
    /// Readers here see it until `Outbox.resolve(_:_:)` decides otherwise.
    case keepPending
    /// After `after` rejections the change isn't sent again, until the app decides with `Outbox.resolve(_:_:)`.
    ///
    /// With 1 or less the first rejection is enough. A new change of the record is sent again, and counts from
    /// 0.
    case quarantine(after: Int)
    /// The change is undone, and the record takes the server's version. The journal has the content, to restore
    /// it.
    case discardAndRefetch
  }
}

extension SyncOptions {
  /// The choice between a local copy and none.
  package enum CacheMode: String, Sendable, Hashable, CaseIterable {
    /// Records are stored in the file, and policies choose when reads use it. The default.
    case enabled
    /// Every read and every write uses the server, and nothing is stored on the device.
    case disabled
  }
}

extension SyncOptions {
  /// The treatment of a save that the local store cannot take, such as on a full disk or in a locked file.
  package enum LocalFailurePolicy: String, Sendable, Hashable, CaseIterable {
    /// The save throws. The default.
    case throwError
    /// The save is tried on the server. The receipt states that it isn't stored on the device. If the server rejects it or
    /// has other changes of the same fields, that is thrown. If the server decides nothing, the store's failure is.
    ///
    /// Of several records each is tried for itself, one after the other. A transaction of the app isn't tried.
    case tryRemote
  }
}

extension SyncOptions {
  /// The answer of a read that doesn't use the server, if its condition has fields that only the server knows.
  package enum UnevaluablePolicy: String, Sendable, Hashable, CaseIterable {
    /// The read throws `BothyError` `notLocallyEvaluable`. The default.
    case throwError
    /// The answer is empty, from the cache and not complete.
    case empty
  }
}

/// The directions of a sync.
///
/// ```swift
/// let report = await store.sync(.push)
/// show("\(report.pushed) changes sent")
/// ```
///
/// A conflict is decided with the server's answer to a push, so it may replace local content under `.push` too.
public enum SyncDirection: String, Sendable, Hashable, CaseIterable {
  /// Sends pending changes and pulls nothing.
  case push
  /// Pulls the server's changes and sends nothing.
  case pull
  /// Does both, in shared round trips. The default of `SyncOptions.direction`.
  case both
}

extension SyncOptions {
  /// The behavior of a sync that is requested while another runs.
  package enum IfRunning: String, Sendable, Hashable, CaseIterable {
    /// Waits for that sync, or for its turn, and reports the results. The default.
    case join
    /// Returns at once, with `.alreadyRunning` in the report.
    case ignore
  }
}

/// The options of one call that differ from the store's configuration. `nil` leaves the configuration's value.
package struct RequestOptions: Sendable {
  /// The source of a read. Types that are not synced are always read from the local store.
  package var readPolicy: ReadPolicy?
  /// The destination that a write reaches first. Changes of server-only types are always sent to the server, and types
  /// that are not synced stay here.
  package var writePolicy: WritePolicy?
  /// False if results of the network aren't stored in the local store.
  package var cacheResults: Bool?
  /// True if a deletion of a record that isn't on this device is sent, in case the server has it.
  package var assumesRemote: Bool
  /// The longest time a read under `.syncThenLocal` waits for its sync. The sync continues after that.
  package var timeout: Duration?
  /// The failure of the local store to take the write, so that the server alone gets it.
  var storeFailure: BothyError?

  /// Makes options that differ from the configuration in the given values.
  package init(
    readPolicy: ReadPolicy? = nil, writePolicy: WritePolicy? = nil, cacheResults: Bool? = nil,
    assumesRemote: Bool = false, timeout: Duration? = nil
  ) {
    self.readPolicy = readPolicy
    self.writePolicy = writePolicy
    self.cacheResults = cacheResults
    self.assumesRemote = assumesRemote
    self.timeout = timeout
  }
}
