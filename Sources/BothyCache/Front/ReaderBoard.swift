internal import Synchronization

/// Who waits for one request, as far as it matters for what its answer is worth: as what they read the bytes.
final class ReaderBoard<Name: Hashable & Sendable>: Sendable {
  private struct State {
    var readers: [Name: [Int: TypedDemand?]] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// Notes a reader; before it joins a flight, so that the flight's end knows all who wait for it.
  func enter(_ name: Name, _ typed: TypedDemand?) -> Int {
    state.withLock { state in
      state.next += 1
      state.readers[name, default: [:]][state.next] = .some(typed)
      return state.next
    }
  }

  func leave(_ name: Name, _ id: Int) {
    state.withLock { state in
      state.readers[name]?[id] = nil
      if state.readers[name]?.isEmpty == true { state.readers[name] = nil }
    }
  }

  /// What the bytes are wanted as, in the order in which the readers came: each type once.
  func types(_ name: Name) -> [TypedDemand] {
    let readers = state.withLock { $0.readers[name] } ?? [:]
    var seen: Set<String> = []
    return readers.sorted { $0.key < $1.key }.compactMap { $0.value }.filter { seen.insert($0.type).inserted }
  }
}
