import BothySync
import BothyTesting
import Testing

@Suite("The estimate of the server's clock", .timeLimit(.minutes(5)))
struct SyncClockTests {
  /// Promises: X-5
  @Test("The offset is the server's time less the middle of the round trip")
  func halfRoundTrip() {
    let clock = SyncClock(now: { 10_000 })
    #expect(clock.correctedNow() == 10_000)
    let estimate = clock.sample(serverTime: 60_000, sentAt: 9_000, receivedAt: 10_000)
    #expect(estimate?.offset == 50_500)
    #expect(clock.correctedNow() == 10_000 + 50_500)
    #expect(clock.now() == 10_000)
  }

  /// Promises: X-5
  @Test("The sample with the shortest round trip of the last hour is kept")
  func shortest() {
    let clock = SyncClock(now: { 0 })
    #expect(clock.sample(serverTime: 1_050, sentAt: 0, receivedAt: 100)?.offset == 1_000)
    #expect(clock.sample(serverTime: 9_999, sentAt: 1_000, receivedAt: 1_200) == nil)
    #expect(clock.offset == 1_000)
    #expect(
      clock.sample(serverTime: 3_025, sentAt: 2_000, receivedAt: 2_050)?.offset == 1_000
        || clock.offset == 1_000)
    #expect(clock.sample(serverTime: 5_000, sentAt: 3_000, receivedAt: 3_010)?.offset == 1_995)
  }

  @Test("After an hour a longer round trip replaces it")
  func hour() {
    let clock = SyncClock(now: { 0 })
    _ = clock.sample(serverTime: 105, sentAt: 0, receivedAt: 10)
    #expect(clock.sample(serverTime: 0, sentAt: 3_600_000 - 200, receivedAt: 3_600_009) == nil)
    let later = clock.sample(serverTime: 3_600_110 + 700, sentAt: 3_600_010, receivedAt: 3_600_210)
    #expect(later?.offset == 700)
  }

  @Test("A device whose clock was set back doesn't keep a future sample")
  func setBack() {
    let clock = SyncClock(now: { 0 })
    _ = clock.sample(serverTime: 1_000_005, sentAt: 1_000_000, receivedAt: 1_000_010)
    #expect(clock.sample(serverTime: 900, sentAt: 0, receivedAt: 200)?.offset == 800)
  }

  @Test("A time of the server that no clock has changes nothing", arguments: [.min, -1, .max] as [Int64])
  func impossible(time: Int64) {
    let clock = SyncClock(now: { 10_000 })
    #expect(clock.sample(serverTime: time, sentAt: 9_000, receivedAt: 10_000) == nil)
    #expect(clock.correctedNow() == 10_000)
  }

  /// Promises: X-5
  @Test("The estimate survives a restart")
  func restart() async throws {
    let world = try SimulatedWorld()
    let device = try world.addDevice(schema: .notes, skew: -5_000)
    await device.store.sync()
    #expect(device.store.clock.offset == 5_000)
    try device.restart()
    #expect(device.store.clock.offset == 5_000)
    #expect(device.store.clock.correctedNow() == world.time.now)
  }
}
