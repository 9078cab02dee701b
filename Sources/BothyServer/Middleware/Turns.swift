import Synchronization

/// Limits the number of requests that run at a time, in total and per user. The others wait in the order of their
/// arrival. Requests of a user that has used its share are passed over by those of others.
final class Turns: Sendable {
  private let width: Int
  private let share: Int
  private let line: Int
  private let state = Mutex(State())

  /// The end of a wait.
  private enum ServerResponse { case admitted, crowded, cancelled }

  private struct Waiter {
    var number: Int
    var user: String
    var turn: CheckedContinuation<ServerResponse, Never>
  }

  private struct State {
    var running = 0
    /// The number of running and of waiting requests of each user. Users without any have no entry.
    var atWork: [String: Int] = [:]
    var inLine: [String: Int] = [:]
    var waiting: [Waiter] = []
    var number = 0

    mutating func start(_ user: String) {
      running += 1
      atWork[user, default: 0] += 1
    }

    /// Removes a waiter from the line.
    mutating func call(_ place: Int) -> Waiter {
      let waiter = waiting.remove(at: place)
      inLine[waiter.user] = inLine[waiter.user].flatMap { $0 > 1 ? $0 - 1 : nil }
      return waiter
    }
  }

  /// - Parameters:
  ///   - share: The most of `width` that one user may have.
  ///   - line: The most requests of one user that may wait.
  init(width: Int, share: Int, line: Int) {
    self.width = max(1, width)
    self.share = max(1, min(share, width))
    self.line = max(0, line)
  }

  /// The number of running and of waiting requests.
  var counts: (running: Int, waiting: Int) { state.withLock { ($0.running, $0.waiting.count) } }

  /// Waits until a slot is free and takes it. `end` frees it.
  ///
  /// Throws `HTTPFailure` 503 at once if the user has too many waiting requests, and `CancellationError` if the task
  /// is cancelled while it waits.
  func begin(_ user: String) async throws {
    let number = state.withLock { state in
      state.number += 1
      return state.number
    }
    let answer = await withTaskCancellationHandler {
      await withCheckedContinuation { turn in
        let answer: ServerResponse? = state.withLock { state in
          if Task.isCancelled { return .cancelled }
          if state.running < width, state.atWork[user] ?? 0 < share {
            state.start(user)
            return .admitted
          }
          guard state.inLine[user] ?? 0 < line else { return .crowded }
          state.inLine[user, default: 0] += 1
          state.waiting.append(Waiter(number: number, user: user, turn: turn))
          return nil
        }
        if let answer { turn.resume(returning: answer) }
      }
    } onCancel: {
      let waiter = state.withLock { state in
        state.waiting.firstIndex { $0.number == number }.map { state.call($0) }
      }
      waiter?.turn.resume(returning: .cancelled)
    }
    switch answer {
    case .admitted: return
    case .cancelled: throw CancellationError()
    case .crowded:
      throw HTTPFailure.unavailable("Too many of your requests wait already. Send this one again later.")
    }
  }

  /// Takes a slot if one is free for the user now, and returns true then. `end` frees it.
  func beginNow(_ user: String) -> Bool {
    state.withLock { state in
      guard state.running < width, state.atWork[user] ?? 0 < share else { return false }
      state.start(user)
      return true
    }
  }

  /// Frees a slot that `begin` or `beginNow` took for the user.
  func end(_ user: String) {
    let next = state.withLock { state -> Waiter? in
      state.running -= 1
      state.atWork[user] = state.atWork[user].flatMap { $0 > 1 ? $0 - 1 : nil }
      let place = state.waiting.firstIndex { state.atWork[$0.user] ?? 0 < share }
      guard let place, state.running < width else { return nil }
      let waiter = state.call(place)
      state.start(waiter.user)
      return waiter
    }
    next?.turn.resume(returning: .admitted)
  }
}
