import Bars
import Foundation

/// `scripts/simulate-scaling`: the load when spaces are spread over databases, and devices over processes.
///
/// It runs no server. The cost of a request is an input, measured by `scripts/bench-server`.
@main
struct ScalingSimulation {
  static func main() {
    do {
      let options = try SimulationOptions(CommandLine.arguments.dropFirst())
      print("seed \(options.seed)\n")
      options.costs.table.print()
      if options.has("shards") { ShardRun(options).table().print() }
      if options.has("hints") { NotificationRun(options).table().print() }
      if options.has("storm") { StormTable(options).table().print() }
    } catch {
      FileHandle.standardError.write(Data("simulate-scaling: \(error)\n".utf8))
      exit(2)
    }
  }
}

struct SimulationOptions: BenchmarkOptions {
  /// The most devices. Tables begin some powers of ten below.
  var devices = 10_000_000
  var seed = 1
  var costs = Costs()
  var only: String?

  static var numbers: [String: WritableKeyPath<Self, Int>] {
    ["--devices": \.devices, "--seed": \.seed]
  }
  static var parts: [String] { ["shards", "hints", "storm"] }

  mutating func quicken() { devices = 100_000 }

  /// Sets a cost in its unit, for example `--cost push=120`.
  mutating func take(_ argument: String, _ value: () throws -> String) throws -> Bool {
    guard argument == "--cost" else { return false }
    let parts = try value().split(separator: "=")
    guard parts.count == 2, let number = Double(parts[1]), number > 0,
      let path = Costs.names[String(parts[0])]
    else { throw BenchmarkError("--cost takes one of \(Costs.names.keys.sorted()), = and a number") }
    costs[keyPath: path].value = number
    return true
  }

  /// The numbers of devices that tables have a row for.
  var sizes: [Int] {
    let smaller = [1000, 100_000, 1_000_000].filter { $0 < devices }
    return smaller + [devices]
  }
}
