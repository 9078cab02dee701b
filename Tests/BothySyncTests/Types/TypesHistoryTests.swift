import Foundation
import Testing

/// Random histories over several types with references, sharing, restoring, purging, drafts and awaited saves.
@Suite("Histories of several types", .timeLimit(.minutes(minutesForSeeds)))
struct TypesHistoryTests {
  /// The variables that choose histories.
  ///
  /// `BOTHY_TYPES_SEEDS` sets the number of histories or a range (`201-1000`), `BOTHY_TYPES_SEED` runs one alone, and
  /// `BOTHY_TYPES_HISTORY` replays a line.
  static let environment = ProcessInfo.processInfo.environment

  static let seeds: [UInt64] = {
    if let one = environment["BOTHY_TYPES_SEED"].flatMap({ UInt64($0) }) { return [one] }
    let ends = (environment["BOTHY_TYPES_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
    let first = ends.count > 1 ? ends[0] : 1
    return Array(first...max(first, ends.last ?? 60))
  }()

  /// The number of failing seeds to shrink and print. `most` is the number of failures after which the test stops.
  private static let reported = environment["BOTHY_TELL"].flatMap { Int($0) } ?? 1
  private static let most = environment["BOTHY_FAILURES"].flatMap { Int($0) } ?? 1

  @Test("Devices agree with the server in the end, whatever happened to their records")
  func histories() async {
    var failed: [UInt64] = []
    var steps = 0
    var happened: [String: Int] = [:]
    for seed in Self.seeds {
      let history = TypesGenerator.history(seed: seed)
      steps += history.steps.count
      let problems = await TypesShrinker.problems(of: history) { happened.merge($0) { $0 + $1 } }
      if problems.isEmpty { continue }
      failed.append(seed)
      if failed.count <= Self.reported { await tell(history, problems) }
      if failed.count >= Self.most { break }
    }
    print("Histories of several types: seeds \(Self.seeds[0])...\(Self.seeds.last ?? 0), \(steps) steps")
    #expect(failed.isEmpty, "These seeds end badly: \(failed)")
    guard failed.count < Self.most && Self.seeds.count >= 60 else { return }
    for what in TypesHistory.situations {
      #expect(happened[what] ?? 0 > 0, "No history had '\(what)': \(happened)")
    }
  }

  private func tell(_ history: TypesHistory, _ problems: [TypesProblem]) async {
    let smaller = await TypesShrinker.shrink(history)
    let found = await TypesShrinker.problems(of: smaller)
    Issue.record(
      """
      Seed \(history.seed): \(Self.text(problems))
      Smaller, \(smaller.steps.count) of \(history.steps.count) steps: \(Self.text(found))
      Replay with BOTHY_TYPES_HISTORY='\(smaller.line)'
      """)
  }

  private static func text(_ problems: [TypesProblem]) -> String {
    problems.prefix(5).map(\.description).joined(separator: "; ")
  }

  @Test(
    "A history survives encoding to one line and decoding",
    .enabled(if: environment["BOTHY_TYPES_HISTORY"] == nil), arguments: [1, 2, 3] as [UInt64])
  func line(seed: UInt64) throws {
    let history = TypesGenerator.history(seed: seed)
    #expect(try TypesHistory(line: history.line) == history)
  }

  @Test(
    "The history of BOTHY_TYPES_HISTORY ends well", .enabled(if: environment["BOTHY_TYPES_HISTORY"] != nil))
  func replay() async throws {
    let runner = try TypesRunner(try TypesHistory(line: Self.environment["BOTHY_TYPES_HISTORY"] ?? ""))
    let problems = try await runner.run()
    #expect(problems.isEmpty, "\(problems)\n\(runner.log.joined(separator: "\n"))")
  }
}
