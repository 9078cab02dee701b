import Foundation
import Testing

@Suite("Wide histories", .timeLimit(.minutes(minutesForSeeds)))
struct WideHistoryTests {
  /// `BOTHY_SEEDS` sets the number of histories or a range of seeds (`201-1000`), and `BOTHY_SEED` runs one alone.
  /// `BOTHY_HISTORY` replays a line. Under `scripts/with-postgres`, every second history has its server on PostgreSQL.
  static let environment = ProcessInfo.processInfo.environment

  static let seeds: [UInt64] = {
    if let one = environment["BOTHY_SEED"].flatMap({ UInt64($0) }) { return [one] }
    let ends = (environment["BOTHY_SEEDS"] ?? "").split(separator: "-").compactMap { UInt64($0) }
    let first = ends.count > 1 ? ends[0] : 1
    return Array(first...max(first, ends.last ?? 200))
  }()

  @Test("Acknowledged work is on the server, rejected or in the journal")
  func histories() async throws {
    let features = WideFeature.chosen
    var failed: [UInt64] = []
    var steps = 0
    var happened: [String: Int] = [:]
    for seed in Self.seeds {
      let history = WideGenerator.history(seed: seed, features: features)
      steps += history.steps.count
      let problems = await WideShrinker.problems(of: history) { happened.merge($0) { $0 + $1 } }
      if problems.isEmpty { continue }
      failed.append(seed)
      if failed.count <= Self.reported { await tell(seed, history, problems) }
      if failed.count >= Self.most { break }
    }
    let names = features.map(\.rawValue).sorted().joined(separator: ",")
    print(
      "Wide histories: seeds \(Self.seeds.first ?? 0)...\(Self.seeds.last ?? 0), \(steps) steps, features \(names)"
    )
    #expect(failed.isEmpty, "These seeds diverge: \(failed)")
    guard failed.isEmpty && Self.seeds.count >= 200 else { return }
    for what in WideFeature.situations(of: features) {
      #expect(happened[what] ?? 0 > 0, "No history had '\(what)': \(happened)")
    }
  }

  /// The number of failing seeds to shrink and print, and the number after which the test stops.
  private static let reported = environment["BOTHY_TELL"].flatMap { Int($0) } ?? 1
  private static let most = environment["BOTHY_FAILURES"].flatMap { Int($0) } ?? 1

  private func tell(_ seed: UInt64, _ history: WideHistory, _ problems: [String]) async {
    let smaller = await WideShrinker.shrink(history)
    let runner = try? await WideRunner(smaller)
    let found = (try? await runner?.run()) ?? problems
    Issue.record(
      """
      Seed \(seed): \(problems.joined(separator: "; "))
      Smaller, \(smaller.steps.count) of \(history.steps.count) steps: \(found.joined(separator: "; "))
      \(runner?.intent.log.joined(separator: "\n") ?? "")
      Replay with BOTHY_HISTORY='\(smaller.line)', or as a test:
      \(smaller.test)
      """)
  }

  @Test(
    "A history in one line reads back unchanged",
    .enabled(if: environment["BOTHY_HISTORY"] == nil))
  func line() throws {
    let history = WideGenerator.history(seed: 1, features: Set(WideFeature.allCases))
    #expect(try WideHistory(line: history.line) == history)
  }

  @Test("A history is printed as a test that creates an equal history")
  func asTest() {
    let history = WideHistory(
      seed: 7, devices: [.init(policy: .fieldByField), .init(policy: .localWins, scopes: ["box"])],
      steps: [
        .write(0, .init(what: .create, record: 2)),
        .sync(1, .push, [.lostAnswer, .none], during: .init(what: .title, record: 0)),
        .sync(0, .both, [], during: nil), .decide(1, 0, .retry), .follow(0, ["box/1"]),
        .export(0, again: true), .adopt(1, .uploadMine, [.busy]), .download(1, 2, []),
      ])
    #expect(
      history.test == """
          @Test("What holds, in a few words")
          func seed7() async throws {
            let found = try await WideRunner.problems(
              seed: 7,
              [
                .init(policy: .fieldByField, refusals: .keep, batch: 500, page: 1000, skew: 0, scopes: [""]),
                .init(policy: .localWins, refusals: .keep, batch: 500, page: 1000, skew: 0, scopes: ["box"]),
              ],
              [
                .write(0, .init(what: .create, record: 2, place: 0)),
                .sync(1, .push, [.lostAnswer, .none], during: .init(what: .title, record: 0, place: 0)),
                .sync(0, .both, [], during: nil),
                .decide(1, 0, .retry),
                .follow(0, ["box/1"]),
                .export(0, again: true),
                .adopt(1, .uploadMine, [.busy]),
                .download(1, 2, []),
              ])
            #expect(found == [])
          }
        """)
  }

  @Test("The history of BOTHY_HISTORY ends well", .enabled(if: environment["BOTHY_HISTORY"] != nil))
  func replay() async throws {
    let runner = try await WideRunner(try WideHistory(line: Self.environment["BOTHY_HISTORY"] ?? ""))
    let problems = try await runner.run()
    print(runner.intent.log.joined(separator: "\n"))
    #expect(problems.isEmpty, "\(problems.joined(separator: "\n"))")
  }
}
