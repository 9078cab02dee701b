import Bars

extension StoreRun {
  /// The claims of `BothyStore`, with the ratios of this run.
  var bars: [Bar] {
    var bars: [Bar] = []
    func add(_ workload: Workload, _ contender: Contender, to floor: Contender, _ limit: Double) {
      guard let ratio = ratio(workload, contender, to: floor) else { return }
      bars.append(
        Bar(
          claim: "\(workload.rawValue): \(contender.rawValue) / \(floor.rawValue)", measured: ratio,
          limit: limit))
    }
    for workload in [Workload.scan, .readAll, .update, .delete] { add(workload, .local, to: .swift, 1.15) }
    add(.insert, .local, to: .swift, 1.3)
    add(.insertEach, .local, to: .c, 2)
    add(.readOne, .local, to: .c, 4)
    add(.insert, .synced, to: .c, 2.5)
    for (workload, limit) in [(Workload.scan, 3.0), (.insert, 2.5)] {
      guard let ratio = ratio(workload, .grdb, to: .local) else { continue }
      bars.append(
        Bar(
          claim: "\(workload.rawValue): GRDB Codable / Bothy local", measured: ratio, limit: limit,
          isMinimum: true))
    }
    return bars
  }

  /// Prints every workload and contender, as ratios to `floor`.
  func printTable(floor: Contender) {
    let width = Workload.allCases.map(\.rawValue.count).max() ?? 0
    print("".padded(width), contenders.map { $0.rawValue.leftPadded(13) }.joined())
    for workload in Workload.allCases {
      let cells = contenders.map { (ratio(workload, $0, to: floor)?.short ?? "-").leftPadded(13) }
      print(workload.rawValue.padded(width), cells.joined())
    }
  }
}
