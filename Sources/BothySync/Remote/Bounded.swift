/// Waiting with a time limit.
enum Bounded {
  /// Returns the result of `body` within `limit`, or `nil` if the time is over or the caller is cancelled. Then `body`
  /// is cancelled and not awaited.
  static func run<Value: Sendable>(
    within limit: Duration, sleep: @escaping @Sendable (Duration) async throws -> Void,
    _ body: @escaping @Sendable () async -> Value
  ) async -> Value? {
    let (answers, answer) = AsyncStream<Value?>.makeStream(bufferingPolicy: .bufferingOldest(1))
    let asked = Task { answer.yield(await body()) }
    let timer = Task {
      // Cancelled means that the answer has arrived.
      guard (try? await sleep(limit)) != nil else { return }
      answer.yield(nil)
    }
    defer {
      asked.cancel()
      timer.cancel()
    }
    var iterator = answers.makeAsyncIterator()
    return await iterator.next() ?? nil
  }

  /// Like `run(within:sleep:_:)`, but for a call of a remote. A silent server counts as one that can't be reached.
  static func request<Value: Sendable>(
    within limit: Duration, _ clock: SyncClock,
    _ call: @escaping @Sendable () async throws(RemoteError) -> Value
  ) async throws(RemoteError) -> Value {
    let result: Result<Value, RemoteError>? = await run(within: limit, sleep: clock.sleep) {
      do throws(RemoteError) { return .success(try await call()) } catch { return .failure(error) }
    }
    if let result { return try result.get() }
    if Task.isCancelled { throw RemoteError(.unreachable, "The request was cancelled.", code: "cancelled") }
    throw RemoteError(
      .unreachable,
      "The server gave no answer within \(limit). Try again later.",
      code: "timeout")
  }
}
