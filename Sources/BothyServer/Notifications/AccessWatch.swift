import Logging
import ServiceLifecycle

/// Checks every second if the files that define access have changed, and if a key set is due. If access has changed,
/// open event streams check their tokens again.
struct AccessWatch: Service {
  let access: Authentication?
  let hub: ChangeNotifier
  let logger: Logger
  var interval = Duration.seconds(1)

  /// A provider that doesn't answer delays only the keys, because files are checked beside.
  func run() async throws {
    async let keys: Void = repeating(after: { interval }) { await look { try await $0.reloadKeys() } }
    try await repeating(after: { interval }) { await look { try await $0.reloadFiles() } }
    try await keys
  }

  private func look(_ reload: (Authentication) async throws -> Bool) async {
    do {
      guard let access, try await reload(access) else { return }
      logger.notice("who may enter was read again")
      hub.beat()
    } catch {
      logger.error(
        "who may enter can't be read again; what was read before stays in force",
        metadata: ["error": "\(error)"])
    }
  }
}
