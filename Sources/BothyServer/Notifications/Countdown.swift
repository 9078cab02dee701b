/// Does something when a time is over that begins later, or never.
struct Countdown: Sendable {
  private let start: AsyncStream<Void>.Continuation
  private let task: Task<Void, Never>

  init(_ time: Duration, _ action: @escaping @Sendable () async -> Void) {
    let (stream, start) = AsyncStream.makeStream(of: Void.self)
    self.start = start
    task = Task {
      for await _ in stream {
        guard (try? await Task.sleep(for: time)) != nil else { return }  // cancelled before its end
        await action()
      }
    }
  }

  func begin() { start.yield() }

  /// Ends it. The action isn't done later.
  func cancel() { task.cancel() }
}
