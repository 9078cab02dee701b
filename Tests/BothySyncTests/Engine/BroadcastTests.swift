import BothyCore
import BothyTestSupport
import BothyTesting
import Testing

@Suite("Values for several listeners", .timeLimit(.minutes(5)))
struct BroadcastTests {
  private func last(of values: AsyncStream<Int>) async -> Int? {
    var last: Int?
    for await value in values { last = value }
    return last
  }

  @Test("A listener's last value is the present one, whichever tasks change it at once")
  func present() async {
    for _ in 0..<500 {
      let (feed, number, gate) = (Broadcast<Int>(), Locked(0), Latch())
      let early = feed.values(startingWith: number.value)
      let late = Task {
        await gate.pass()
        return feed.values(startingWith: number.value)
      }
      let senders = (0..<4).map { _ in
        Task {
          await gate.pass()
          number.change { $0 += 1 }
          feed.send(number.value)
        }
      }
      gate.open()
      for sender in senders { await sender.value }
      let streams = [early, await late.value]
      feed.finish()
      for stream in streams { #expect(await last(of: stream) == 4) }
    }
  }
}
