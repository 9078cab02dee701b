import Bars
import Foundation

/// All contenders on equal rows, round-robin. Each contender runs a workload in turn before the next workload begins,
/// in a rotating order, on fresh files for each repetition. So other activity of the machine affects all of them alike.
struct StoreRun {
  let contenders: [Contender]
  let data: Dataset
  let repetitions: Int
  let folder: String
  private(set) var times: [Workload: [Contender: [Double]]] = [:]

  init(_ contenders: [Contender] = Contender.allCases, rows: Int, repetitions: Int, folder: String) {
    self.contenders = contenders
    data = Dataset(rows: rows)
    self.repetitions = repetitions
    self.folder = folder
  }

  mutating func run() throws {
    for repetition in 0..<repetitions {
      let place = "\(folder)/store-\(data.items.count)-\(repetition)"
      try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
      var sessions: [(Contender, Session)] = []
      for contender in contenders { sessions.append((contender, try contender.open(data, in: place))) }
      for workload in Workload.allCases {
        if workload == .queryIndexed { for (_, session) in sessions { _ = try session.fillIndexed() } }
        try measure(workload, sessions)
        sessions.append(sessions.removeFirst())
      }
      for (_, session) in sessions { try session.close() }
      try FileManager.default.removeItem(atPath: place)
    }
  }

  private mutating func measure(_ workload: Workload, _ sessions: [(Contender, Session)]) throws {
    var answers: Set<Int> = []
    for (contender, session) in sessions {
      let clock = ContinuousClock()
      let start = clock.now
      answers.insert(try session.run(workload))
      let seconds = start.duration(to: clock.now) / .seconds(1)
      times[workload, default: [:]][contender, default: []].append(seconds)
    }
    guard answers.count == 1 else {
      throw BenchmarkError("The contenders disagree on '\(workload.rawValue)': \(answers.sorted()).")
    }
  }

  /// Returns the median over the repetitions of one contender's time divided by the other's in that repetition.
  func ratio(_ workload: Workload, _ contender: Contender, to floor: Contender) -> Double? {
    guard let mine = times[workload]?[contender], let theirs = times[workload]?[floor] else { return nil }
    return zip(mine, theirs).map { $0 / $1 }.median
  }
}
