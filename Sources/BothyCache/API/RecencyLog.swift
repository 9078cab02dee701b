internal import Synchronization

/// Times of last use of entries on disk, collected in memory because a read never writes. They are saved in batches.
final class RecencyLog: Sendable {
  private struct State {
    var uses: [ResourceKey: Int64] = [:]
    var lastTaken: Int64 = 0
  }

  private let state = Mutex(State())
  private let batch: Int
  private let interval: Int64

  /// - Parameters:
  ///   - batch: the number of uses that makes a batch due.
  ///   - interval: the milliseconds after which any number of uses is due.
  init(batch: Int = 512, interval: Int64 = 30_000) {
    self.batch = batch
    self.interval = interval
  }

  /// Records a use. Returns true if a batch is due.
  func note(_ key: ResourceKey, at now: Int64) -> Bool {
    state.withLock { state in
      state.uses[key] = max(now, state.uses[key] ?? .min)
      if state.lastTaken == 0 { state.lastTaken = now }
      return state.uses.count >= batch || now - state.lastTaken >= interval || now < state.lastTaken
    }
  }

  func take(at now: Int64) -> [ResourceKey: Int64] {
    state.withLock { state in
      state.lastTaken = now
      defer { state.uses = [:] }
      return state.uses
    }
  }

  func forget(_ keys: [ResourceKey]) {
    state.withLock { state in
      for key in keys { state.uses[key] = nil }
    }
  }
}
