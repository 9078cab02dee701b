package import BothySyncService
import Foundation

/// The values of all limits of a server, each in the type that uses it.
package struct ServerBounds: Sendable {
  package var rules = AccessRules()
  package var server = ServerConfiguration.Limits()
  package var blobs = BlobLimits()
  package var database = DatabaseBounds()
  package var decisions = WriteCallout.Limits()
  package var spaces = SpaceCallout.Limits()
  package var webhooks = WebhookBounds()
  package var retention = RetentionPolicy()

  /// Creates the defaults.
  package init() {}
}

/// The limits of a storage's connections.
package struct DatabaseBounds: Sendable {
  /// The connections of a SQLite file for short reads. They are more than the pulls of one user at a time, so that one
  /// user never has all of them.
  package var readers = min(64, max(8, 2 * ProcessInfo.processInfo.activeProcessorCount))
  /// The connections to PostgreSQL for writes, and as many for reads.
  package var connections = 8
  /// The longest time a call is repeated while PostgreSQL is unavailable.
  package var patience: Duration = .seconds(15)
}

/// The limits of deliveries to webhooks, which `WebhookSettings` describes.
package struct WebhookBounds: Sendable {
  package var width = 8
  package var changes = 500
  package var bytes = 1 << 20
  package var timeout: Duration = .seconds(10)
}
