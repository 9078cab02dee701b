import BothyHTTP
import BothySync
import Synchronization
import Testing

@Suite("A stream from which nothing comes", .timeLimit(.minutes(5)))
struct SilenceWatchTests {
  @Test("ends with an error that says how long it was silent")
  func silent() async {
    let error = await #expect(throws: RemoteError.self) {
      try await SilenceWatch.withLimit(.milliseconds(20)) { _ in
        await Self.forever()
      }
    }
    #expect(error?.errorClass == .unreachable)
    #expect(error?.code == "silent")
  }

  /// Returns when its task is cancelled.
  private static func forever() async {
    let (stream, continuation) = AsyncStream<Void>.makeStream()
    defer { continuation.finish() }
    for await _ in stream {}
  }

  @Test("goes on while signs of life come, and ends as it ends by itself")
  func alive() async throws {
    let count = Mutex(0)
    try await SilenceWatch.withLimit(.seconds(3600)) { heard in
      for _ in 0..<3 {
        await Task.yield()
        heard()
        count.withLock { $0 += 1 }
      }
    }
    #expect(count.withLock { $0 } == 3)
  }
}
