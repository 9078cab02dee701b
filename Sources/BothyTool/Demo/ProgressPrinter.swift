import Synchronization

/// Prints the progress of the demo: titles with times, and the events of each step.
final class ProgressPrinter: Sendable {
  struct Step: Sendable {
    var title: String
    var seconds: Double
  }

  private let reported = Mutex<[Step]>([])
  private let start = ContinuousClock.now
  /// True if the progress is printed on standard error, because standard output has a document.
  private let quiet: Bool

  init(quiet: Bool) { self.quiet = quiet }

  var steps: [Step] { reported.withLock { $0 } }

  /// The seconds since the start.
  var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  /// Prints a line.
  func say(_ text: String) throws {
    if quiet { StandardStreams.note(text) } else { try StandardStreams.write(text) }
  }

  func chapter(_ title: String) throws { try say("\n\(title)") }

  /// Runs a step, and prints its result and duration.
  func step<Result>(
    _ title: String, _ body: () async throws -> Result, tell: (Result) -> String
  ) async throws -> Result {
    let began = ContinuousClock.now
    let result = try await body()
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    reported.withLock { $0.append(Step(title: title, seconds: seconds)) }
    let line = "  \(title): \(tell(result))"
    try say(line + String(repeating: " ", count: max(1, 84 - line.count)) + "\(seconds.shown) s")
    return result
  }
}
