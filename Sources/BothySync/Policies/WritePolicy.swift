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
