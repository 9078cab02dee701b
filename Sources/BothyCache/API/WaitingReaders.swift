internal import Synchronization

/// The readers that wait for one request, with the types to which they decode the bytes.
final class WaitingReaders<Name: Hashable & Sendable>: Sendable {
  private struct State {
    var readers: [Name: [Int: TypedDemand?]] = [:]
    var next = 0
  }

  private let state = Mutex(State())

  /// Adds a reader. Call it before the reader joins a request, so that the end of the request knows all its readers.
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

  /// Returns the requested types in the order of the readers, each type once.
  func types(_ name: Name) -> [TypedDemand] {
    let readers = state.withLock { $0.readers[name] } ?? [:]
    var seen: Set<String> = []
    return readers.sorted { $0.key < $1.key }.compactMap { $0.value }.filter { seen.insert($0.type).inserted }
  }
}
