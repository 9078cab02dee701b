import BothyHTTP
import BothySync
import Synchronization
import Testing

@Suite("Silent streams", .timeLimit(.minutes(5)))
struct SilenceWatchTests {
  @Test("A silent stream ends with an error that names the length of the silence")
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

  @Test("A stream with signs of life continues and ends by itself")
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
