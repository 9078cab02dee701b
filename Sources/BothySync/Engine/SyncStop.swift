import BothyProtocol

/// The reason why a sync did not run to its end, with the words for people. `SyncObstacle` is what apps see of it.
package enum SyncStop: Sendable, Hashable, Codable {
  /// The server did not answer: no network, or no server at its end. The text is for people, as in the other cases.
  case unreachable(String)
  /// The server no longer accepts the token. Sign in again, then sync; pending changes stay pending.
  case signInRequired(String)
  /// The server is too busy. `SyncReport.retryAfter` has the time to wait, if the server named one.
  case throttled(String)
  /// The server failed. It may have carried out the request or not. Sending it again does nothing twice.
  case serverError(String)
  /// The server refused the whole request.
  case refused(code: String, String)
  /// Another sync is running, and this one had `SyncOptions.IfRunning.ignore`.
  case alreadyRunning
  /// The app paused syncing.
  case paused
  /// The sync policy doesn't allow a network on which each byte may cost money.
  case expensiveNetwork
  /// The sync policy doesn't allow a network on which the user asked apps to use little data.
  case constrainedNetwork
  /// The sync policy doesn't allow syncing while the device saves power.
  case lowPower
  /// The server accepts only newer versions of the app. Nothing is sent until the app's schema version rises.
  case updateRequired(String)
  /// The server is another one than the file was synced with, or lacks acknowledged records. Nothing was deleted. Sync
  /// with the first server again, adopt this one (`maintenance.adoptServer`), send it the missing records
  /// (`maintenance.uploadMine`), or keep the file apart (`maintenance.keepApart`).
  case otherServer(String)
  /// The account was signed out.
  case signedOut
  /// Its task was cancelled. Completed work stays done.
  case cancelled

  init(_ error: RemoteError) {
    if error.code == "updateRequired" {
      self = .updateRequired(error.message)
      return
    }
    if error.code == BoundRemote.otherServer || error.code == BoundRemote.otherHistory {
      self = .otherServer(error.message)
      return
    }
    if error.code == BoundRemote.signedOutCode {
      self = .signedOut
      return
    }
    switch error.errorClass {
    case .unreachable: self = .unreachable(error.message)
    case .unauthenticated: self = .signInRequired(error.message)
    case .throttled: self = .throttled(error.message)
    case .serverError: self = .serverError(error.message)
    case .forbidden, .notFound, .conflict, .rejected:
      self = .refused(code: error.code ?? error.errorClass.rawValue, error.message)
    }
  }

  /// The name for reports.
  package var name: String {
    switch self {
    case .unreachable: "unreachable"
    case .signInRequired: "signInRequired"
    case .throttled: "throttled"
    case .serverError: "serverError"
    case .refused(let code, _): code
    case .alreadyRunning: "alreadyRunning"
    case .paused: "paused"
    case .expensiveNetwork: "expensiveNetwork"
    case .constrainedNetwork: "constrainedNetwork"
    case .lowPower: "lowPower"
    case .updateRequired: "updateRequired"
    case .otherServer: "otherServer"
    case .signedOut: "signedOut"
    case .cancelled: "cancelled"
    }
  }

  /// True if trying again later can help.
  var isTransient: Bool {
    switch self {
    case .unreachable, .throttled, .serverError: true
    case .signInRequired, .refused, .alreadyRunning, .paused, .cancelled, .expensiveNetwork,
      .constrainedNetwork, .lowPower, .updateRequired, .otherServer, .signedOut:
      false
    }
  }
}

extension SyncStop {
  /// The reason without its words.
  package var obstacle: SyncObstacle {
    switch self {
    case .unreachable: .unreachable
    case .signInRequired: .signInRequired
    case .throttled: .busyServer
    case .serverError: .serverError
    case .refused: .rejected
    case .alreadyRunning: .alreadyRunning
    case .paused: .paused
    case .expensiveNetwork, .constrainedNetwork: .network
    case .lowPower: .lowPower
    case .updateRequired: .updateRequired
    case .otherServer: .otherServer
    case .signedOut: .signedOut
    case .cancelled: .cancelled
    }
  }
}
