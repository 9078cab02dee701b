import Synchronization
import Testing

/// Work in steps that breaks off once and is then completed.
enum SteppedWork {
  /// Calls its closure between two steps, and breaks off if that throws.
  typealias Work = (@escaping @Sendable () throws -> Void) async throws -> Void

  private struct BrokenOff: Error {}

  /// Breaks off work after its first step, calls `look`, and does the rest, which is two steps.
  static func check(_ work: @escaping Work, between look: () async throws -> Void) async throws {
    await #expect(throws: BrokenOff.self) { try await work { throw BrokenOff() } }
    try await look()
    let pauses = Mutex(0)
    try await work { pauses.withLock { $0 += 1 } }
    #expect(pauses.withLock { $0 } == 1)
  }
}
