import BothyStore
import BothySyncService
import Tracing

/// A storage whose transactions are timed, counted and traced.
struct InstrumentedStorage: ServerStorage {
  let base: any ServerStorage
  let metrics: ServerMetrics
  let tracer: any Tracer
  /// Learns when the disk is full and when it has room again.
  let room: RoomWatch

  var identity: String { base.identity }

  var upkeep: (any ServerMaintenance)? { base.upkeep }

  /// Throws `BothyError` `.diskFull` if writes failed with it recently.
  func check() async throws {
    try await base.check()
    try room.check()
  }

  func write<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerTransaction) throws -> Result
  ) async throws -> Result {
    try await measured("write") {
      do {
        let result = try await base.write(space: space, body)
        room.wrote()
        return result
      } catch let error as BothyError where error.code == .diskFull {
        room.failed(error)
        throw error
      }
    }
  }

  func read<Result: Sendable>(
    space: String, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await measured("read") { try await base.read(space: space, body) }
  }

  func search<Result: Sendable>(
    space: String, within limit: Duration, _ body: @escaping @Sendable (any ServerSnapshot) throws -> Result
  ) async throws -> Result {
    try await measured("search") { try await base.search(space: space, within: limit, body) }
  }

  private func measured<Result: Sendable>(
    _ kind: String, _ body: @Sendable () async throws -> Result
  ) async throws -> Result {
    let begin = ContinuousClock.now
    metrics.transactions(kind, changeBy: 1)
    defer { metrics.transactions(kind, changeBy: -1) }
    do {
      let result = try await tracer.withAnySpan("storage \(kind)", ofKind: .client) { span in
        span.attributes["db.operation.name"] = kind
        return try await body()
      }
      metrics.transaction(kind, succeeded: true, duration: ContinuousClock.now - begin)
      return result
    } catch {
      metrics.transaction(kind, succeeded: false, duration: ContinuousClock.now - begin)
      throw error
    }
  }
}
