/// A reconnect storm of streams that all ended at one moment.
///
/// Each device waits, opens a stream on any process and then pulls. Each process responds to one after another. A
/// device that has waited for a minute gives up. Time advances in steps of 10 ms, and each process has a queue without
/// a limit.
struct Storm {
  static let step = 0.01
  /// The number of steps of the longest wait.
  private static let slots = 1 << 15
  private static let patience = Int32(60 / step)

  struct Outcome {
    var attempts = 0
    var givenUp = 0
    /// The highest rate of attempts to open a stream, in a tenth of a second and after processes respond again.
    var peak = 0.0
    /// The seconds until a half, 99 % and all have a stream and have pulled.
    var half = 0.0, most = 0.0, all = 0.0
  }

  /// The queue of a process. Devices before `served` have their response. Those between it and `left` have given up,
  /// but the process doesn't know it yet.
  private struct Queue {
    var devices: [Int32] = []
    var times: [Int32] = []
    var served = 0
    var left = 0
    /// The seconds that the process has worked ahead.
    var debt = 0.0
  }

  private let devices: Int
  private let waits: Waits
  private let away: Int
  private let open: Double
  private let pull: Double
  private let power: Double
  private var queues: [Queue]
  private var chance: Chance
  /// The lists of devices by the step of their next attempt, linked through `next`.
  private var heads = [Int32](repeating: -1, count: slots)
  private var next: [Int32]
  private var attempts: [UInt8]
  private var isOpen: [Bool]
  private var now = 0
  private var done = 0
  private var outcome = Outcome()

  /// - Parameters:
  ///   - away: The seconds without a response from any process.
  ///   - open, pull: The seconds of work for a stream and for a pull.
  ///   - power: The seconds of work that a process does in a second.
  init(
    devices: Int, processes: Int, waits: Waits, away: Double, open: Double, pull: Double, power: Double,
    seed: Int
  ) {
    self.devices = devices
    self.waits = waits
    self.away = Int(away / Self.step)
    (self.open, self.pull, self.power) = (open, pull, power)
    queues = Array(repeating: Queue(), count: processes)
    chance = Chance(seed: seed)
    next = Array(repeating: -1, count: devices)
    attempts = Array(repeating: 0, count: devices)
    isOpen = Array(repeating: false, count: devices)
  }

  /// Runs the simulation to the end, or for an hour.
  mutating func run() -> Outcome {
    for device in 0..<devices { fail(Int32(device)) }
    var window = [Int](repeating: 0, count: 10)
    while done < devices, Double(now) * Self.step < 3600 {
      now += 1
      let before = outcome.attempts
      tryDue()
      window[now % 10] = outcome.attempts - before
      guard now >= away else { continue }
      outcome.peak = max(outcome.peak, Double(window.reduce(0, +)) * 10)
      for process in queues.indices {
        giveUp(process)
        serve(process)
      }
      note()
    }
    return outcome
  }

  /// Runs the attempts of the devices that are due.
  private mutating func tryDue() {
    let slot = now & (Self.slots - 1)
    var device = heads[slot]
    heads[slot] = -1
    while device >= 0 {
      let following = next[Int(device)]
      if !isOpen[Int(device)] { outcome.attempts += 1 }
      if now < away { fail(device) } else { ask(device) }
      device = following
    }
  }

  private mutating func ask(_ device: Int32) {
    let process = chance.below(queues.count)
    queues[process].devices.append(device)
    queues[process].times.append(Int32(now))
  }

  private mutating func fail(_ device: Int32) {
    let attempt = min(Int(attempts[Int(device)]) + 1, 255)
    attempts[Int(device)] = UInt8(attempt)
    let seconds = waits.seconds(attempt: attempt, &chance)
    let slot = (now + max(1, Int(seconds / Self.step))) & (Self.slots - 1)
    next[Int(device)] = heads[slot]
    heads[slot] = device
  }

  private mutating func giveUp(_ process: Int) {
    while queues[process].left < queues[process].devices.count,
      Int32(now) - queues[process].times[queues[process].left] >= Self.patience
    {
      let device = queues[process].devices[queues[process].left]
      queues[process].left += 1
      outcome.givenUp += 1
      fail(device)
    }
  }

  private mutating func serve(_ process: Int) {
    queues[process].debt = max(0, queues[process].debt - power * Self.step)
    while queues[process].debt < power * Self.step, queues[process].served < queues[process].devices.count {
      let index = queues[process].served
      queues[process].served += 1
      let device = queues[process].devices[index]
      guard index >= queues[process].left else {
        // The device has given up, and detecting that is assumed to cost as much as opening.
        queues[process].debt += open
        continue
      }
      queues[process].left = index + 1
      answer(device, process)
    }
    if queues[process].served > 100_000 { forget(process) }
  }

  private mutating func answer(_ device: Int32, _ process: Int) {
    attempts[Int(device)] = 0
    guard isOpen[Int(device)] else {
      queues[process].debt += open
      isOpen[Int(device)] = true
      return ask(device)
    }
    queues[process].debt += pull
    done += 1
  }

  private mutating func forget(_ process: Int) {
    let count = queues[process].served
    queues[process].devices.removeFirst(count)
    queues[process].times.removeFirst(count)
    queues[process].left -= count
    queues[process].served = 0
  }

  private mutating func note() {
    let seconds = Double(now) * Self.step
    if outcome.half == 0, done * 2 >= devices { outcome.half = seconds }
    if outcome.most == 0, done * 100 >= devices * 99 { outcome.most = seconds }
    if outcome.all == 0, done == devices { outcome.all = seconds }
  }
}
