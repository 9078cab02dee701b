/// The reason why a sync did not run, or not to its end. Pending changes stay pending.
///
/// ```swift
/// switch await store.sync().obstacle {
/// case nil: show("Everything is up to date.")
/// case .signInRequired, .signedOut: showSignIn()
/// case let obstacle?: show("Not now: \(obstacle).")
/// }
/// ```
///
/// Under `run()` the engine tries again by itself after `unreachable`, `busyServer` and `serverError`. After
/// the others it syncs again when something happens, such as a save.
public enum SyncObstacle: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server did not answer: no network, or no server at its address.
  ///
  /// Also if an answer came from another server, such as a network's sign-in page. `run()` tries again by
  /// itself.
  case unreachable
  /// The server no longer accepts the token, or the app gave none. Sign in again, then sync.
  ///
  /// `BothyRemote` has requested another token once before this.
  case signInRequired
  /// The account was signed out on this device, or its file was removed. The store syncs no more. Open the
  /// account again.
  case signedOut
  /// The server is too busy. `run()` waits for as long as the server says, and tries again.
  ///
  /// A sync of the app itself is tried at once, so wait before calling one again.
  case busyServer
  /// The server failed. It may have carried out the request or not. Sending it again does nothing twice.
  ///
  /// `run()` tries again by itself. Operations keep their ids until the server has answered.
  case serverError
  /// The server rejected the whole request, or the local file failed. `SyncReport.message` has its words.
  ///
  /// It isn't tried again by itself, because only a change helps, such as another space or more room on the
  /// disk.
  case rejected
  /// The app paused syncing with `SyncedStore.pause()`, in this process or in another. `SyncedStore.resume()`
  /// ends it.
  case paused
  /// The network rules don't allow the present network, which costs money or should carry little data, or the
  /// device saves power.
  ///
  /// `SyncReport.message` says which. Change `store.options.network`, or wait for another network.
  case network
  /// The server accepts only newer versions of the app. Nothing is sent until the app's schema version rises.
  ///
  /// The file remembers it after a relaunch. Reads and writes of the local file work as before.
  case updateRequired
  /// The server is another one than the file was synced with, or lacks acknowledged records. Nothing was deleted.
  ///
  /// Sync with the first server again, adopt this one (`maintenance.adoptServer`), send it the missing records
  /// (`maintenance.uploadMine`), or keep the file apart (`maintenance.keepApart`).
  case otherServer
  /// The task of the sync was cancelled, or another sync was running and the configuration has this one return
  /// at once.
  ///
  /// Also if the caller is itself called by a running sync, such as a merge policy. Completed work stays done.
  case cancelled
}
