import Synchronization

/// Controls the beginning and the end of the writes of a soak's device.
final class SoakSwitch: Sendable {
  private struct State {
    var hasBegun = false
    var hasEnded = false
    var waiting: CheckedContinuation<Void, Never>?
  }

  private let state = Mutex(State())

  var isOn: Bool { state.withLock { $0.hasBegun && !$0.hasEnded } }

  func begin() { change { $0.hasBegun = true } }
  func end() { change { $0.hasEnded = true } }

  /// Waits for the beginning or the end, whichever comes first. Only one task may wait.
  func wait() async {
    await withCheckedContinuation { continuation in
      let isOver = state.withLock { state -> Bool in
        if state.hasBegun || state.hasEnded { return true }
        state.waiting = continuation
        return false
      }
      if isOver { continuation.resume() }
    }
  }

  private func change(_ body: (inout State) -> Void) {
    let waiting = state.withLock { state in
      body(&state)
      defer { state.waiting = nil }
      return state.waiting
    }
    waiting?.resume()
  }
}
