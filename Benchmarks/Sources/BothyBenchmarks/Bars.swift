/// A claim about speed, and whether this run bears it out.
struct Bar {
  let claim: String
  let measured: Double
  let limit: Double
  /// Whether `measured` may not be below `limit`, as for rows a second; else it may not be above.
  var isMinimum = false
  var unit = "x"

  var holds: Bool { isMinimum ? measured >= limit : measured <= limit }

  static func print(_ bars: [Bar]) {
    let width = bars.map(\.claim.count).max() ?? 0
    for bar in bars {
      let sign = bar.isMinimum ? ">=" : "<="
      Swift.print(
        bar.claim.padded(width), bar.measured.short.leftPadded(9), bar.unit, sign,
        bar.limit.short.leftPadded(7),
        bar.holds ? "pass" : "MISSED")
    }
  }
}

extension StoreRun {
  /// What `BothyStore` promises, with the ratios of this run.
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

  /// Every workload and contender, as ratios to `floor`.
  func printTable(floor: Contender) {
    let width = Workload.allCases.map(\.rawValue.count).max() ?? 0
    print("".padded(width), contenders.map { $0.rawValue.leftPadded(13) }.joined())
    for workload in Workload.allCases {
      let cells = contenders.map { (ratio(workload, $0, to: floor)?.short ?? "-").leftPadded(13) }
      print(workload.rawValue.padded(width), cells.joined())
    }
  }
}

extension String {
  func padded(_ width: Int) -> String { self + String(repeating: " ", count: max(0, width - count)) }
  func leftPadded(_ width: Int) -> String { String(repeating: " ", count: max(0, width - count)) + self }
}

extension Double {
  /// Two decimals below a hundred, none above.
  var short: String {
    if self >= 100 { return String(Int(rounded())) }
    let hundredths = Int((self * 100).rounded())
    let rest = hundredths % 100
    return "\(hundredths / 100).\(rest < 10 ? "0" : "")\(rest)"
  }
}
