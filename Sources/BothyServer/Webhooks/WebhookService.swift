import BothySyncService
import Logging
import ServiceLifecycle

/// Runs all webhooks of a server until it shuts down. A delivery under way is then given up, and repeated after the
/// next start.
struct WebhookService: Service {
  private let senders: [WebhookSender]

  /// Returns `nil` for a server without webhooks, and for a storage that keeps no progress of them.
  init?(_ configuration: ServerConfiguration, _ parts: ServerServices) {
    guard let settings = configuration.webhooks, !settings.webhooks.isEmpty else { return nil }
    guard let storage = configuration.storage as? any FeedStorage else {
      configuration.logger.error("the storage keeps no progress of webhooks, so nothing is delivered")
      return nil
    }
    senders = settings.webhooks.map { hook in
      WebhookSender(
        hook, settings, parts.service, storage, metrics: parts.metrics.registry,
        logger: configuration.logger, now: configuration.now)
    }
    configuration.notifications.observe { [senders] space in
      for sender in senders { sender.news(space: space) }
    }
  }

  func run() async throws {
    await cancelWhenGracefulShutdown {
      await withDiscardingTaskGroup { group in
        for sender in senders { group.addTask { await sender.run() } }
      }
    }
  }
}
