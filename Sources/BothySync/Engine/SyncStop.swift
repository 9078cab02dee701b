import BothyProtocol
import BothyStore

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
  /// The network rules don't allow a network on which each byte may cost money.
  case expensiveNetwork
  /// The network rules don't allow a network on which the user asked apps to use little data.
  case constrainedNetwork
  /// The network rules don't allow syncing while the device saves power.
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

  /// The code of a refusal because of the present state on the server, from a server without a code of its own.
  static let conflict = RemoteError.Class.conflict.rawValue

  /// The code of a failure on this device, such as a full disk. The server has refused nothing, and may have carried out
  /// the request.
  static let local = "local"

  /// The ways out of a sync with another server, as the end of a message.
  package static let waysOut =
    " Sync with the first server again. Or call `adoptServer()`, which drops what came from the first one "
    + "and sends pending changes. Or call `uploadMine()`, which gives this one what it lacks. Or call "
    + "`keepApart()` and open another file for it."

  /// Each reason's name for reports, what apps see of it, and the server's words if it has any.
  private var row: (name: String, obstacle: SyncObstacle, words: String?) {
    switch self {
    case .unreachable(let words): ("unreachable", .unreachable, words)
    case .signInRequired(let words): ("signInRequired", .signInRequired, words)
    case .throttled(let words): ("throttled", .busyServer, words)
    case .serverError(let words): ("serverError", .serverError, words)
    case .refused(let code, let words): (code, .rejected, words)
    case .alreadyRunning: ("alreadyRunning", .cancelled, nil)
    case .paused: ("paused", .paused, nil)
    case .expensiveNetwork: ("expensiveNetwork", .network, nil)
    case .constrainedNetwork: ("constrainedNetwork", .network, nil)
    case .lowPower: ("lowPower", .network, nil)
    case .updateRequired(let words): ("updateRequired", .updateRequired, words)
    case .otherServer(let words): ("otherServer", .otherServer, words)
    case .signedOut: ("signedOut", .signedOut, nil)
    case .cancelled: ("cancelled", .cancelled, nil)
    }
  }

  /// The name for reports.
  package var name: String { row.name }
  /// The reason without its words.
  package var obstacle: SyncObstacle { row.obstacle }
  /// The server's words, or `nil` for a reason without any.
  var words: String? { row.words }
  /// True if trying again later can help.
  var isTransient: Bool { [.unreachable, .busyServer, .serverError].contains(obstacle) }
  /// True if the same sync probably ends the same way when it is tried again at once.
  var isFailure: Bool { isTransient || [.signInRequired, .rejected, .otherServer].contains(obstacle) }
}

extension SyncStop {
  /// The event, as a sentence.
  package var sentence: String {
    if let words { return words.isEmpty ? "The sync ended with \(name)." : words }
    return switch self {
    case .paused: "Syncing is paused."
    case .expensiveNetwork: "The network may cost money, which the app's network rules don't allow."
    case .constrainedNetwork: "The app's network rules spare a constrained network."
    case .lowPower: "The device saves power, which the app's network rules respect."
    default: BothyError(self).message
    }
  }

  /// The remedy outside of the app.
  package var remedy: String {
    switch self {
    case .unreachable:
      "See that the server runs and that this device can reach it; an app that runs tries again by itself."
    case .signInRequired: "Sign in again in the app, or give it a token that the server takes."
    case .throttled: "Wait until the server has room; an app that runs tries again by itself."
    case .serverError: "Look at the server's log; an app that runs tries again by itself."
    case .refused(code: SyncStop.local, _): "Run `bothy doctor` on the file, and see that the disk has room."
    case .refused: "Compare the server, the space and the account that the app syncs with."
    case .paused: "Resume syncing in the app, or force a sync."
    case .expensiveNetwork, .constrainedNetwork: "Take the device to another network, or force a sync."
    case .lowPower: "Charge the device, or force a sync."
    case .updateRequired: "Install a newer version of the app."
    case .otherServer:
      "Correct the address or the space. Or adopt this server with `bothy sync --adopt`, which deletes what came from "
        + "the first one and sends pending changes. Or give it what it lacks with `--upload-mine`. Or keep the file as "
        + "it is with `--keep-apart`, and use another one for this server."
    case .signedOut: "Sign in again in the app."
    case .alreadyRunning, .cancelled: "Sync again."
    }
  }
}

extension BothyError {
  /// Makes the error for callers that a sync, or one request, could not serve.
  ///
  /// - Parameter error: the error of the remote that is the reason, or `nil` if none is at hand.
  package init(_ reason: SyncStop, underlying error: RemoteError? = nil) {
    let (code, message): (Code, String) =
      switch reason {
      case .unreachable(let words): (.unreachable, words)
      case .signInRequired(let words): (.signInRequired, words)
      case .throttled(let words): (.throttled, words)
      case .serverError(let words): (.serverError, words)
      case .refused(SyncStop.conflict, let words): (.conflict, words)
      case .refused(SyncStop.local, let words): (.database, words)
      case .refused(_, let words): (.rejected, words)
      case .alreadyRunning: (.cancelled, "A sync is running already.")
      case .paused: (.cancelled, "Syncing is paused. Call `resume()`.")
      case .expensiveNetwork:
        (
          .cancelled,
          "The network may cost money, which the network rules don't allow. Change `store.options.network`, or wait."
        )
      case .constrainedNetwork:
        (
          .cancelled,
          "The network rules spare a constrained network. Change `store.options.network`, or wait."
        )
      case .lowPower:
        (
          .cancelled,
          "The device saves power, which the network rules respect. Change `store.options.network`."
        )
      case .updateRequired(let words): (.updateRequired, words)
      case .otherServer(let words): (.otherServer, words + SyncStop.waysOut)
      case .signedOut: (.signedOut, "The account was signed out.")
      case .cancelled: (.cancelled, "The sync was cancelled; what it had done is kept.")
      }
    self.init(code, message, underlying: error)
  }
}

/// The form of a reason in the log: a name, the server's code and a text.
extension SyncStop {
  init(word: String, code: String?, message: String) {
    let known: [SyncStop] = [
      .unreachable(message), .signInRequired(message), .throttled(message), .serverError(message),
      .alreadyRunning, .paused, .expensiveNetwork, .constrainedNetwork, .lowPower, .updateRequired(message),
      .otherServer(message), .signedOut, .cancelled,
    ]
    let name = word == "authenticationRequired" ? "signInRequired" : word
    self = known.first { $0.name == name } ?? .refused(code: code ?? word, message)
  }

  var logWord: String { if case .refused = self { "refused" } else { name } }

  var logCode: String? { if case .refused(let code, _) = self { code } else { nil } }

  var logMessage: String? { words.map(Self.withoutSecrets) }

  /// Returns one line of at most 300 characters, without tokens, and without the user, password and query of an
  /// address.
  static func withoutSecrets(_ text: String) -> String {
    let line = text.replacing(/\s+/, with: " ")
      .replacing(/:\/\/[^\/\s@]*@/, with: "://")
      .replacing(/(https?:\/\/[^\s?]*)\?[^\s]*/) { $0.1 }
      .replacing(/(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+\/=\-]+/) { "\($0.1) …" }
    return line.count <= 300 ? line : line.prefix(299) + "…"
  }
}
