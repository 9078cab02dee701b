import BothyStore
import BothySyncService
import Synchronization

/// The rules of the server, whose schema can change while it runs. Each call of `SyncService` uses one schema throughout.
final class Rulebook: Sendable {
  private let current: Mutex<SyncService>

  init(_ service: SyncService) { current = Mutex(service) }

  var service: SyncService { current.withLock { $0 } }

  /// Reads the schema's files, and uses it for later calls. Throws and changes nothing if it can't follow the present
  /// one.
  func reload(_ files: SchemaFiles) throws {
    let schema = try files.schema(following: service.rules.schema)
    current.withLock { $0.rules.schema = schema }
  }
}
