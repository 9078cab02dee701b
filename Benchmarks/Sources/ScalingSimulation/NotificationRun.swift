import Bars
import Foundation

/// The load of notifications, and the savings from combining them.
///
/// A write reaches every process by NOTIFY and, from each process, the streams of the space. Then each notified device
/// pulls. Notifications of a stream keep an interval, and those that arrive during a pull count as one.
struct NotificationRun {
  /// The number of devices whose pulls are simulated, each for a time.
  private static let sample = 20_000
  private static let time = 60.0
  private let options: SimulationOptions
  private var costs: Costs { options.costs }

  init(_ options: SimulationOptions) { self.options = options }

  func table() -> Table {
    var table = Table(
      "Hints, each device writing every \(costs.interval.value.short) s",
      [
        "devices", "processes", "devices a space", "skew", "writes/s", "hints/s a process", "pulls/s",
        "pulls a hint", "cores of a process", "cores of databases", "notices/s a process", "cores for them",
      ])
    for devices in options.sizes {
      for (members, skew) in [(10, 0.0), (1000, 0.0), (1000, 0.8)] where devices / members >= 1 {
        table.add(row(devices, members, skew))
      }
    }
    return table
  }

  private func row(_ devices: Int, _ members: Int, _ skew: Double) -> [String] {
    let sizes = Sizes(spaces: devices / members, skew: skew)
    let processes = max(1, Int((Double(devices) / costs.streams.value).rounded(.up)))
    let writes = Double(devices) / costs.interval.value
    var chance = Chance(seed: options.seed)
    // A device is in a space by the space's share, and is notified of the writes of all others in it.
    let pick = Picker(sizes.shares)
    var notifications = 0.0
    var pulls = 0.0
    for _ in 0..<Self.sample {
      let others = max(0, sizes.shares[pick.next(&chance)] * Double(devices) - 1)
      let rate = others / costs.interval.value
      let distance = costs.distance.value / 1000
      notifications += Self.notifications(rate: rate, distance: distance)
      pulls += Self.pulls(rate: rate, pause: max(costs.roundTrip.value / 1000, distance), &chance)
    }
    let each = Double(devices) / Double(Self.sample)
    (notifications, pulls) = (notifications * each, pulls * each)
    let work =
      (notifications * costs.notify.value + pulls * costs.pull.value + writes * costs.push.value) / 1e6
    let database = (pulls * costs.pullDatabase.value + writes * costs.pushDatabase.value) / 1e6
    let notices = writes * Double(processes - 1) / Double(processes)
    return [
      devices.brief, "\(processes)", members.brief, "\(skew)", writes.brief,
      (notifications / Double(processes)).brief, pulls.brief,
      (notifications == 0 ? 0 : pulls / notifications).short,
      (work / Double(processes)).brief, database.brief, notices.brief,
      (notices * costs.notice.value / 1e6).brief,
    ]
  }

  /// Returns the notifications a second on a stream of a space with writes at `rate`. A write within the interval after
  /// the last notification is reported at its end, and any other at once.
  private static func notifications(rate: Double, distance: Double) -> Double {
    rate > 0 ? 1 / (distance + exp(-rate * distance) / rate) : 0
  }

  /// Returns the pulls a second of one device whose space has writes at `rate`. All writes during a pull, or before the
  /// stream may notify again, cause one more pull.
  private static func pulls(rate: Double, pause: Double, _ chance: inout Chance) -> Double {
    guard rate > 0 else { return 0 }
    var (now, count) = (chance.wait(rate: rate), 0)
    while now < time {
      count += 1
      now += pause
      if chance.unit() < exp(-rate * pause) { now += chance.wait(rate: rate) }
    }
    return Double(count) / time
  }
}

/// Picks an index by its share.
private struct Picker {
  private let ends: [Double]

  init(_ shares: [Double]) {
    var sum = 0.0
    ends = shares.map { share in
      sum += share
      return sum
    }
  }

  func next(_ chance: inout Chance) -> Int {
    let wanted = chance.unit() * (ends.last ?? 1)
    var (low, high) = (0, ends.count - 1)
    while low < high {
      let middle = (low + high) / 2
      if ends[middle] <= wanted { low = middle + 1 } else { high = middle }
    }
    return low
  }
}
