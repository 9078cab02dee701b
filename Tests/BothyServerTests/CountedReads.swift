import BothySyncService
import BothyTestSupport

/// A storage that counts its reads, so that a test knows when a wait or a stream has looked.
struct CountedReads: ServerStorage {
  let base: SQLiteServerStorage
  let reads = Locked(0)

  var identity: String { base.identity }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result { try await base.write(space: space, body) }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    defer { reads.change { $0 += 1 } }
    return try await base.read(space: space, body)
  }
}
