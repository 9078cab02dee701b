import struct Foundation.URL

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
  static func ask<Value: Sendable>(
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
      "The server gave no answer within \(limit). Try again later, or raise SyncOptions.requestTimeout.",
      code: "timeout")
  }
}

/// A remote for blobs with a time limit for each call.
struct BoundedBlobs: BlobRemote {
  let remote: any BlobRemote
  let limit: Duration
  let clock: SyncClock

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await Bounded.ask(within: limit, clock) { () throws(RemoteError) in
      try await remote.holding(of: sha256)
    }
  }

  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await Bounded.ask(within: limit, clock) { () throws(RemoteError) in
      try await remote.verifiedHolding(of: sha256)
    }
  }

  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    try await Bounded.ask(within: limit, clock) { () throws(RemoteError) in try await remote.upload(part) }
  }

  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    try await Bounded.ask(within: limit, clock) { () throws(RemoteError) in
      try await remote.download(sha256, range)
    }
  }

  func url(of sha256: String) -> URL { remote.url(of: sha256) }
}
