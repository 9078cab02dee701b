package import BothyStore
package import BothySync
package import Logging
import ServiceLifecycle

/// A page with two devices side by side, each with a switch for its network, to play with going offline.
package final class Playground: Service {
  private let page: LocalPage

  /// - Parameters:
  ///   - devices: each with its own file; they sync by themselves.
  ///   - server: what the server holds now.
  package init(
    _ devices: [PlayDevice], port: Int = 0, logger: Logger,
    server: @escaping @Sendable () async throws -> [ServerRecord]
  ) {
    page = LocalPage(Front(playing: devices, logger: logger, server: server), port: port, logger: logger)
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once.
  package func run() async throws { try await page.run() }

  /// The address that opens the page, once, when it listens; nil if it never does. Ask once.
  package func address() async -> String? { await page.address() }

  /// What its devices keep: trips, whose country the server insists on.
  package static func schema(isStrict: Bool) -> StoreSchema {
    StoreSchema(types: [
      TypeSchema(
        "Trip",
        fields: [
          FieldSchema("title", .text, merge: .latest), FieldSchema("country", .text, optional: !isStrict),
          FieldSchema("notes", .text, optional: true, merge: .keepBoth),
          FieldSchema("nights", .int, default: 1, merge: .counter),
          FieldSchema("done", .bool, default: false),
        ])
    ])
  }
}

/// One device of the playground.
package struct PlayDevice: Sendable {
  package var name: String
  package var store: SyncedStore
  package var isOnline: @Sendable () -> Bool
  package var setOnline: @Sendable (Bool) -> Void
  /// Where its inspector is; nil while that is not open.
  package var inspector: @Sendable () -> String?

  package init(
    _ name: String, store: SyncedStore, isOnline: @escaping @Sendable () -> Bool,
    setOnline: @escaping @Sendable (Bool) -> Void, inspector: @escaping @Sendable () -> String?
  ) {
    self.name = name
    self.store = store
    self.isOnline = isOnline
    self.setOnline = setOnline
    self.inspector = inspector
  }
}
