package import BothyStore
package import BothySync
package import Logging
import ServiceLifecycle

/// A page with two devices side by side, each with a switch for its network, to try working offline.
package final class Playground: Service {
  private let page: LoopbackServer

  /// - Parameters:
  ///   - devices: the devices, each with its own file. They sync by themselves.
  ///   - server: returns the current records of the server.
  package init(
    _ devices: [PlayDevice], port: Int = 0, logger: Logger,
    server: @escaping @Sendable () async throws -> [ServerRecord]
  ) {
    page = LoopbackServer(
      InspectorApp(playing: devices, logger: logger, server: server), port: port, logger: logger)
  }

  /// Listens until the task is cancelled or the service group shuts down. Call it once.
  package func run() async throws { try await page.run() }

  /// Waits until the page listens, and returns the address that opens it once, or `nil` if it never listens. Call it
  /// once.
  package func address() async -> String? { await page.address() }

  /// Returns the schema of the devices: trips, whose country the server requires.
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
  /// Returns the address of its inspector, or `nil` while it isn't open.
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
