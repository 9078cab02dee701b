import Synchronization

/// The keys of webhooks whose secrets were read again while the server runs.
package final class WebhookKeys: Sendable {
  private let keys = Mutex<[String: [[UInt8]]]>([:])

  package init() {}

  /// Takes the keys of webhooks by their names. Other webhooks keep theirs.
  package func take(_ webhooks: [Webhook]) {
    keys.withLock { for webhook in webhooks { $0[webhook.name] = webhook.keys } }
  }

  /// Returns the webhook with the keys that were read last.
  func present(_ webhook: Webhook) -> Webhook {
    guard let keys = keys.withLock({ $0[webhook.name] }) else { return webhook }
    var webhook = webhook
    webhook.keys = keys
    return webhook
  }
}
