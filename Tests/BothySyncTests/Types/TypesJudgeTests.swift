import BothyTesting
import Testing

@Suite("The judge of histories of several types", .timeLimit(.minutes(minutesForSeeds)))
struct TypesJudgeTests {
  private static let memo = TypesName(rawValue: "memo0")
  private static let insertion = TypesHistory.Step.write(
    0, .init(what: .insert, record: memo, content: ["title": .text("a")]))

  /// Returns the kinds of problems of two devices right after the steps, without a calm phase.
  private func kinds(after steps: [TypesHistory.Step]) async throws -> Set<TypesProblem.Kind> {
    let devices = [TypesHistory.Device](repeating: .init(policy: .fieldByField), count: 2)
    let runner = try TypesRunner(TypesHistory(seed: 1, devices: devices, steps: steps))
    try await runner.takeSteps()
    try await runner.judge()
    return Set(runner.problems.map(\.kind))
  }

  @Test("No problem is found if all changes are sent and received")
  func even() async throws {
    #expect(try await kinds(after: [Self.insertion, .sync(0, []), .sync(1, [])]) == [])
  }

  @Test("A record that was not sent is found")
  func unsent() async throws {
    // A record without a version may be its device's own, but its pending change is reported.
    #expect(try await kinds(after: [Self.insertion]) == [.pending])
  }

  @Test("A record that was not received is found")
  func unheard() async throws {
    #expect(try await kinds(after: [Self.insertion, .sync(0, [])]) == [.absent])
  }

  @Test("A change that was not received is found in each of its parts")
  func unheardChange() async throws {
    let found = try await kinds(after: [
      Self.insertion, .sync(0, []), .sync(1, []),
      .write(0, .init(what: .update, record: Self.memo, content: ["note": .text("b")])),
      .write(0, .init(what: .move, record: Self.memo, place: "x")), .share(0, Self.memo, with: "ann"),
      .sync(0, []),
    ])
    #expect(found == [.differing, .version, .container, .metadata, .sharing])
  }

  @Test("A device that never reaches its server is found")
  func stuck() async throws {
    let runner = try TypesRunner(TypesHistory(seed: 1, devices: [.init(policy: .fieldByField)], steps: []))
    runner.device(0).remote.isOffline = true
    try await runner.calm()
    #expect(Set(runner.problems.map(\.kind)) == [.stuck])
  }

  @Test("A failing history is shrunk to the step that causes the failure")
  func shrinking() async {
    var history = TypesGenerator.history(seed: 3)
    history.steps.insert(.crash(1, at: 77), at: 12)
    let smaller = await TypesShrinker.shrink(history) { history in
      history.steps.contains(.crash(1, at: 77)) ? [TypesProblem(kind: .stuck, text: "")] : []
    }
    #expect(smaller.steps == [.crash(1, at: 77)])
    #expect(smaller.devices.allSatisfy { $0 == .init(policy: .fieldByField) })
  }
}
