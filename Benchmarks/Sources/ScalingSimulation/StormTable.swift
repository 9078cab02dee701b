import Bars

/// The storms after two events. Either one process of many ends and the others take its devices, or all are down for a
/// while.
struct StormTable {
  private let options: SimulationOptions
  private var costs: Costs { options.costs }

  init(_ options: SimulationOptions) { self.options = options }

  func table() -> Table {
    var table = Table(
      "Reconnect storms",
      [
        "devices", "what ended", "waits", "peak tries/s", "peak / what processes can", "half after s",
        "99 % after s", "all after s", "tries a device", "given up",
      ])
    for devices in options.sizes {
      let processes = max(2, Int((Double(devices) / costs.streams.value).rounded(.up)))
      for waits in Waits.allCases {
        let part = storm(devices / processes, processes - 1, waits, away: 0)
        table.add(["\(devices.brief)", "one of \(processes)", waits.name] + part)
      }
      for waits in Waits.allCases {
        let all = storm(devices, processes, waits, away: costs.away.value)
        table.add(["\(devices.brief)", "all \(processes)", waits.name] + all)
      }
    }
    return table
  }

  private func storm(_ devices: Int, _ processes: Int, _ waits: Waits, away: Double) -> [String] {
    let (open, pull) = (costs.open.value / 1e6, costs.pull.value / 1e6)
    let power = costs.cores.value * costs.spare.value / 100
    var storm = Storm(
      devices: devices, processes: processes, waits: waits, away: away, open: open, pull: pull, power: power,
      seed: options.seed)
    let outcome = storm.run()
    let able = power / (open + pull) * Double(processes)
    return [
      outcome.peak.brief, (outcome.peak / able).brief, (outcome.half - away).short,
      (outcome.most - away).short, (outcome.all - away).short,
      (Double(outcome.attempts) / Double(devices)).short,
      outcome.givenUp == 0 ? "none" : Double(outcome.givenUp).brief,
    ]
  }
}
