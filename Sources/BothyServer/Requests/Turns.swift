import Synchronization

/// Lets so many requests at a time be worked on, and so many of one principal. The others wait, in the order in which they
/// came; those of a principal that has its share are passed over by those of others.
final class Turns: Sendable {
  private let width: Int
  private let share: Int
  private let line: Int
  private let state = Mutex(State())

  fileprivate struct State {
    var running = 0
    /// How many each principal has at work, and in the line; those who have none are not in it.
    var atWork: [String: Int] = [:]
    var inLine: [String: Int] = [:]
    var waiting: [(principal: String, turn: CheckedContinuation<Bool, Never>)] = []
  }

  /// - Parameters:
  ///   - share: How many of `width` one principal may have.
  ///   - line: How many of one principal may wait.
  init(width: Int, share: Int, line: Int) {
    self.width = max(1, width)
    self.share = max(1, min(share, width))
    self.line = max(0, line)
  }

  /// Runs `body` when it is its turn. Throws `ServerProblem` 503 at once where the principal has too many waiting already.
  func taking<Result>(_ principal: String, _ body: () async throws -> Result) async throws -> Result {
    let isAdmitted = await withCheckedContinuation { turn in
      let answer: Bool? = state.withLock { state in
        if state.running < width, state.atWork[principal] ?? 0 < share {
          state.start(principal)
          return true
        }
        guard state.inLine[principal] ?? 0 < line else { return false }
        state.inLine[principal, default: 0] += 1
        state.waiting.append((principal, turn))
        return nil
      }
      if let answer { turn.resume(returning: answer) }
    }
    guard isAdmitted else {
      throw ServerProblem.unavailable("Too many of your requests wait already. Send this one again later.")
    }
    defer { end(principal) }
    return try await body()
  }

  private func end(_ principal: String) {
    let next = state.withLock { state -> CheckedContinuation<Bool, Never>? in
      state.running -= 1
      state.atWork[principal] = state.atWork[principal].flatMap { $0 > 1 ? $0 - 1 : nil }
      let place = state.waiting.firstIndex { state.atWork[$0.principal] ?? 0 < share }
      guard let place, state.running < width else { return nil }
      let (principal, turn) = state.waiting.remove(at: place)
      state.inLine[principal] = state.inLine[principal].flatMap { $0 > 1 ? $0 - 1 : nil }
      state.start(principal)
      return turn
    }
    next?.resume(returning: true)
  }
}

extension Turns.State {
  fileprivate mutating func start(_ principal: String) {
    running += 1
    atWork[principal, default: 0] += 1
  }
}
