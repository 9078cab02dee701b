import Synchronization

/// Limits the number of requests that run at a time, in total and per user. The others wait in the order of their
/// arrival. Requests of a user that has used its share are passed over by those of others.
final class Turns: Sendable {
  private let width: Int
  private let share: Int
  private let line: Int
  private let state = Mutex(State())

  fileprivate struct State {
    var running = 0
    /// The number of running and of waiting requests of each user. Users without any have no entry.
    var atWork: [String: Int] = [:]
    var inLine: [String: Int] = [:]
    var waiting: [(principal: String, turn: CheckedContinuation<Bool, Never>)] = []
  }

  /// - Parameters:
  ///   - share: The most of `width` that one user may have.
  ///   - line: The most requests of one user that may wait.
  init(width: Int, share: Int, line: Int) {
    self.width = max(1, width)
    self.share = max(1, min(share, width))
    self.line = max(0, line)
  }

  /// Runs `body` when a slot is free. Throws `HTTPFailure` 503 at once if the user has too many waiting requests.
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
      throw HTTPFailure.unavailable("Too many of your requests wait already. Send this one again later.")
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
