import BothyStore
import Testing

@Suite("The time of a device's processes", .timeLimit(.minutes(5)))
struct DeviceTimeTests {
  private static let hour: Int64 = 3_600_000_000_000
  private let uptime: Int64 = 100

  /// A process that began when the clock was right, with its file.
  private let first = DeviceTime(boot: "one", clock: 9 * DeviceTimeTests.hour, uptime: 50)
  private var file: String { first.ofFile(noting: nil, latest: 0, at: uptime).text }

  @Test(
    "Processes that began by different clocks agree on the time of a file", arguments: [2 * hour, 20 * hour])
  func agreed(clock: Int64) {
    let other = DeviceTime(boot: "one", clock: clock, uptime: 60)
    #expect(other.time(at: uptime) != first.time(at: uptime))
    // The latest time counts only for a new run of the machine.
    let shared = other.ofFile(noting: file, latest: .max, at: uptime)
    #expect(shared == first.ofFile(noting: file, latest: .max, at: uptime))
    let lead = shared.start - other.start
    #expect(other.time(at: uptime + 7) + lead == first.time(at: uptime + 7))
  }

  @Test("A new run of the machine continues after the times of the file")
  func restarted() {
    let late = DeviceTime(boot: "two", clock: 30 * Self.hour, uptime: 5)
    #expect(late.ofFile(noting: file, latest: 9 * Self.hour, at: 5) == late)
    // The clock was set back meanwhile.
    let early = DeviceTime(boot: "two", clock: Self.hour, uptime: 5)
    let shared = early.ofFile(noting: file, latest: 9 * Self.hour, at: 5)
    #expect(shared.time(at: 5) == 9 * Self.hour)
    #expect(DeviceTime(shared.text) == shared)
  }

  @Test("An entry that can't be read is replaced", arguments: ["", "one", "one two", "one 1 2"])
  func unreadable(text: String) {
    #expect(DeviceTime(text) == nil)
    #expect(first.ofFile(noting: text, latest: 0, at: uptime) == first)
  }
}
