import Bars

/// The load of the fullest database compared with the mean. A hash of a space's name selects its database, and a space
/// isn't split, however large it is.
struct ShardRun {
  private static let hashes = 20
  private static let heavy = 100
  private let options: SimulationOptions

  init(_ options: SimulationOptions) { self.options = options }

  func table() -> Table {
    var table = Table(
      "Spaces over databases, \(options.devices.brief) devices",
      [
        "spaces", "skew", "databases", "devices of the largest space", "writes/s in it", "fullest / mean",
        "worst of \(Self.hashes) hashes", "\(Self.heavy) largest placed by hand", "best there is",
        "cores of the fullest for writes",
      ])
    let counts = [options.devices / 1000, options.devices / 10].filter { $0 >= Self.heavy }
    for spaces in counts {
      for skew in [0, 0.8, 1.0, 1.2] {
        let sizes = Sizes(spaces: spaces, skew: skew)
        for databases in [8, 64] { table.add(row(sizes, spaces, skew, databases)) }
      }
    }
    return table
  }

  private func row(_ sizes: Sizes, _ spaces: Int, _ skew: Double, _ databases: Int) -> [String] {
    var hashed: [Double] = []
    var placed: [Double] = []
    for seed in 0..<Self.hashes {
      var chance = Chance(seed: options.seed &* 1000 + seed)
      hashed.append(fullest(of: sizes, databases, byHand: 0, &chance))
      placed.append(fullest(of: sizes, databases, byHand: Self.heavy, &chance))
    }
    let largest = sizes.shares[0]
    let writes = Double(options.devices) / options.costs.interval.value
    let work = writes * options.costs.pushDatabase.value / 1e6
    let devices = largest * Double(options.devices)
    return [
      spaces.brief, "\(skew)", "\(databases)", devices.brief,
      (devices / options.costs.interval.value).brief, (hashed.median ?? 0).short, (hashed.max() ?? 0).short,
      (placed.median ?? 0).short, max(1, largest * Double(databases)).short,
      (work / Double(databases) * (hashed.median ?? 0)).brief,
    ]
  }

  /// Returns the load of the fullest database, relative to the mean. The `byHand` largest spaces are placed, one after
  /// another, on the database with the least load. Chance places the others.
  private func fullest(
    of sizes: Sizes, _ databases: Int, byHand: Int, _ chance: inout Chance
  ) -> Double {
    var loads = [Double](repeating: 0, count: databases)
    for share in sizes.shares.dropFirst(byHand) { loads[chance.below(databases)] += share }
    for share in sizes.shares.prefix(byHand) {
      let least = loads.indices.min { loads[$0] < loads[$1] } ?? 0
      loads[least] += share
    }
    return (loads.max() ?? 0) * Double(databases)
  }
}
