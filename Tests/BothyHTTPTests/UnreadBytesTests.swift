import BothyHTTP
import Synchronization
import Testing

@Suite("Reading ahead", .timeLimit(.minutes(5)))
struct UnreadBytesTests {
  @Test("A slow reader suspends the connection, and resumes it at half the limit")
  func slowReader() {
    let calls = Mutex<[String]>([])
    let unread = UnreadBytes(limit: 10) {
      calls.withLock { $0.append("suspend") }
    } resume: {
      calls.withLock { $0.append("resume") }
    }
    for _ in 0..<2 { unread.add(5) }
    #expect(calls.withLock { $0 } == [])
    for _ in 0..<2 { unread.add(5) }
    #expect(calls.withLock { $0 } == ["suspend"])
    for _ in 0..<2 { unread.take(5) }
    #expect(calls.withLock { $0 } == ["suspend"])
    for _ in 0..<2 { unread.take(5) }
    #expect(calls.withLock { $0 } == ["suspend", "resume"])
    unread.add(11)
    #expect(calls.withLock { $0 } == ["suspend", "resume", "suspend"])
  }
}
