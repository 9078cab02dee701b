import Synchronization

/// Tells the story: titles with times, and what happened under each.
final class Narrator: Sendable {
  struct Step: Sendable {
    var title: String
    var seconds: Double
  }

  private let told = Mutex<[Step]>([])
  private let start = ContinuousClock.now
  /// Whether the story goes to standard error, because standard output carries a document.
  private let quiet: Bool

  init(quiet: Bool) { self.quiet = quiet }

  var steps: [Step] { told.withLock { $0 } }

  /// Seconds since the story began.
  var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }

  /// A line of the story.
  func say(_ text: String) throws {
    if quiet { Standard.note(text) } else { try Standard.write(text) }
  }

  func chapter(_ title: String) throws { try say("\n\(title)") }

  /// Does something and tells what came of it and how long it took.
  func step<Result>(
    _ title: String, _ body: () async throws -> Result, tell: (Result) -> String
  ) async throws -> Result {
    let began = ContinuousClock.now
    let result = try await body()
    let seconds = (ContinuousClock.now - began) / .seconds(1)
    told.withLock { $0.append(Step(title: title, seconds: seconds)) }
    let line = "  \(title): \(tell(result))"
    try say(line + String(repeating: " ", count: max(1, 84 - line.count)) + "\(seconds.shown) s")
    return result
  }
}
