package import BothyCache
package import Foundation
import Synchronization

/// Reads of one version of a remote file that share their requests.
///
/// A range is read with a few requests at a time. Ranges that wait for their turn in the meantime are merged with near
/// ones. Ranges that are expected (`expect`) are read with their whole group, whose bytes are held for the rest of it.
/// Two requests for the same bytes never run at the same time.
package final class ArchiveRanges: Sendable {
  package typealias Read = @Sendable (Range<UInt64>, InFlightRequest) async throws -> Data

  private struct Waiter {
    var range: Range<UInt64>
    var continuation: CheckedContinuation<Range<UInt64>, Never>
  }

  private struct State {
    /// The groups of expected ranges that weren't read yet, in order.
    var expected: [Range<UInt64>] = []
    /// The bytes of groups that were read, the oldest first.
    var held: [(range: Range<UInt64>, data: Data)] = []
    var heldBytes = 0
    /// The running reads with the number of their readers.
    var running: [Range<UInt64>: Int] = [:]
    var waiting: [Waiter] = []
  }

  private let state = Mutex(State())
  private let reads = RequestCoalescer<Range<UInt64>, Result<Data, any Error>>()
  private let plan: RangePlan
  private let concurrentReads: Int
  private let heldLimit: Int

  /// - Parameters:
  ///   - concurrentReads: the number of requests at a time for ranges that weren't announced.
  ///   - heldLimit: the most bytes that are held for expected ranges. A range of a group that was dropped is read alone.
  package init(plan: RangePlan = RangePlan(), concurrentReads: Int = 2, heldLimit: Int = 32 << 20) {
    self.plan = plan
    self.concurrentReads = concurrentReads
    self.heldLimit = heldLimit
  }

  /// The number of ranges that wait for their turn.
  package var waiting: Int { state.withLock { $0.waiting.count } }

  /// Announces ranges that are about to be read, in place of those that were announced before.
  package func expect(_ ranges: some Sequence<Range<UInt64>>) {
    let groups = plan.merged(ranges)
    state.withLock { state in
      state.expected = groups
      state.held = []
      state.heldBytes = 0
    }
  }

  /// Returns the bytes of a range.
  ///
  /// - Parameter read: reads a range, which may be larger, and returns all of its bytes.
  package func bytes(
    _ range: Range<UInt64>, priority: ResourceCache.Priority, _ read: @escaping Read
  ) async throws -> Data {
    if range.isEmpty { return Data() }
    let (held, expected) = state.withLock { state -> (Data?, Range<UInt64>?) in
      if let block = state.held.first(where: { $0.range.contains(range) }) {
        return (RangeReading.slice(range, of: block.data, block.range), nil)
      }
      return (nil, RangePlan.group(of: range, in: state.expected))
    }
    if let held { return held }
    if let expected {
      let data = try await whole(expected, priority) { [self] group, inFlight in
        let data = try await read(group, inFlight)
        hold(data, of: group)
        return data
      }
      return RangeReading.slice(range, of: data, expected)
    }
    let group = await turn(for: range)
    defer { leave(group) }
    return RangeReading.slice(range, of: try await whole(group, priority, read), group)
  }

  private func whole(
    _ group: Range<UInt64>, _ priority: ResourceCache.Priority, _ read: @escaping Read
  ) async throws -> Data {
    try await reads.result(for: group, priority: priority) { inFlight in
      let data = try await read(group, inFlight)
      try RangeReading.check(data, group)
      return data
    }
  }

  /// Keeps the bytes of a group. Drops the oldest ones beyond the limit.
  private func hold(_ data: Data, of group: Range<UInt64>) {
    state.withLock { state in
      guard let place = state.expected.firstIndex(of: group) else { return }
      state.expected.remove(at: place)
      guard data.count == group.count else { return }
      state.held.append((group, data))
      state.heldBytes += data.count
      while state.heldBytes > heldLimit, state.held.count > 1 {
        state.heldBytes -= state.held.removeFirst().data.count
      }
    }
  }

  // MARK: turns

  /// Returns the range to read in place of this one, when a request for it may begin.
  private func turn(for range: Range<UInt64>) async -> Range<UInt64> {
    await withCheckedContinuation { continuation in
      let group = state.withLock { state -> Range<UInt64>? in
        if let running = state.running.keys.first(where: { $0.contains(range) }) {
          state.running[running, default: 0] += 1
          return running
        }
        guard state.running.count < concurrentReads else {
          state.waiting.append(Waiter(range: range, continuation: continuation))
          return nil
        }
        state.running[range] = 1
        return range
      }
      if let group { continuation.resume(returning: group) }
    }
  }

  /// Ends a reader's part in a read. After the last one, the ranges that wait have their turn, near ones together.
  private func leave(_ group: Range<UInt64>) {
    let begun = state.withLock { state -> [(Waiter, Range<UInt64>)] in
      let readers = (state.running[group] ?? 1) - 1
      state.running[group] = readers > 0 ? readers : nil
      let groups = plan.merged(state.waiting.map(\.range))
      let free = groups.prefix(max(0, concurrentReads - state.running.count))
      var begun: [(Waiter, Range<UInt64>)] = []
      state.waiting.removeAll { waiter in
        guard let next = free.first(where: { $0.contains(waiter.range) }) else { return false }
        begun.append((waiter, next))
        state.running[next, default: 0] += 1
        return true
      }
      return begun
    }
    for (waiter, group) in begun { waiter.continuation.resume(returning: group) }
  }
}

extension Range<UInt64> {
  func contains(_ other: Range<UInt64>) -> Bool {
    lowerBound <= other.lowerBound && other.upperBound <= upperBound
  }
}

/// A remote file as a source of ranges, whose reads share requests with those of others.
struct SharedRangeSource: ByteRangeSource {
  let ranges: ArchiveRanges
  let file: HTTPRangeSource
  let priority: ResourceCache.Priority

  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    let data = try await ranges.bytes(range, priority: priority) { [file] group, inFlight in
      try await file.at(inFlight).part(group, expecting: validator).data
    }
    return (data, validator)
  }
}
