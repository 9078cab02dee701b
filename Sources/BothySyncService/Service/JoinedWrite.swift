/// One caller's part of a transaction that several callers share.
package struct JoinedWrite: Sendable {
  package let space: String
  /// Does the caller's work and returns a closure that answers the caller, to call after the commit.
  package let work: @Sendable (any ServerTransaction) throws -> @Sendable () -> Void
  /// Answers the caller that nothing was written.
  package let fail: @Sendable (any Error) -> Void
  /// The time since which the caller waits.
  package let added = ContinuousClock.now

  /// Adds the work by `add` and waits for its answer.
  package static func result<Result: Sendable>(
    space: String, of body: @escaping @Sendable (any ServerTransaction) throws -> Result,
    adding add: (JoinedWrite) -> Void
  ) async throws -> Result {
    try await withCheckedThrowingContinuation { continuation in
      add(
        JoinedWrite(
          space: space,
          work: { transaction in
            let result = try body(transaction)
            return { continuation.resume(returning: result) }
          }, fail: { continuation.resume(throwing: $0) }))
    }
  }
}
