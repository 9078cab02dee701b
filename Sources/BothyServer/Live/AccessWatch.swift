import Logging
import ServiceLifecycle

/// Checks every second if the files that define access have changed. If so, open event streams check their tokens
/// again.
struct AccessWatch: Service {
  let access: Authentication?
  let hub: ChangeNotifier
  let logger: Logger
  var interval = Duration.seconds(1)

  func run() async throws {
    try await repeating(after: { interval }) { await look() }
  }

  func look() async {
    do {
      guard try await access?.reload() == true else { return }
      logger.notice("who may enter was read again")
      hub.beat()
    } catch {
      logger.error(
        "who may enter can't be read again; what was read before stays in force",
        metadata: ["error": "\(error)"])
    }
  }
}
