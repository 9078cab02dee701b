/// The reason why a sync did not run, or not to its end. Pending changes stay pending.
///
/// ```swift
/// switch await store.sync().obstacle {
/// case nil: show("Everything is up to date.")
/// case .signInRequired, .signedOut: showSignIn()
/// case let obstacle?: show("Not now: \(obstacle).")
/// }
/// ```
public enum SyncObstacle: String, Sendable, Hashable, Codable, CaseIterable {
  /// The server did not answer: no network, or no server at its address.
  case unreachable
  /// The server no longer accepts the token. Sign in again, then sync.
  case signInRequired
  /// The account was signed out on this device.
  case signedOut
  /// The server is too busy. `SyncReport.retryAfter` has the time to wait, if the server gave one.
  case busyServer
  /// The server failed. It may have carried out the request or not. Sending it again does nothing twice.
  case serverError
  /// The server rejected the whole request. `SyncReport.message` has its words.
  case rejected
  /// The app paused syncing.
  case paused
  /// The network rules don't allow the present network, which costs money or should carry little data.
  case network
  /// The network rules don't allow syncing while the device saves power.
  case lowPower
  /// The server accepts only newer versions of the app. Nothing is sent until the app's schema version rises.
  case updateRequired
  /// The server is another one than the file was synced with, or lacks acknowledged records. Nothing was deleted.
  ///
  /// Sync with the first server again, adopt this one (`maintenance.adoptServer`), send it the missing records
  /// (`maintenance.uploadMine`), or keep the file apart (`maintenance.keepApart`).
  case otherServer
  /// Another sync is running, and the configuration has this one return at once.
  case alreadyRunning
  /// The task of the sync was cancelled. Completed work stays done.
  case cancelled
}
