import BothyCache
import BothyGeo
import BothyTestSupport
import BothyTesting
import Foundation
import Testing

@Suite("Reads of ranges that share requests", .timeLimit(.minutes(5)))
struct ArchiveRangesTests {
  /// A file whose byte at each place is the lowest byte of the place.
  private final class Source: Sendable {
    let reads = Locked<[Range<UInt64>]>([])
    let gate = Latch()

    static func bytes(_ range: Range<UInt64>) -> Data { Data(range.map { UInt8(truncatingIfNeeded: $0) }) }

    func read(_ range: Range<UInt64>, _ inFlight: InFlightRequest) async throws -> Data {
      reads.change { $0.append(range) }
      await gate.pass()
      return Self.bytes(range)
    }
  }

  @Test("Ranges that wait for their turn are merged with near ones")
  func merged() async throws {
    let (source, ranges) = (Source(), ArchiveRanges(plan: RangePlan(gap: 10, most: 1000)))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for place in 0..<102 {
        let start = UInt64(place < 2 ? 100_000 * (place + 1) : (place - 2) * 25)
        group.addTask {
          let data = try await ranges.bytes(start..<start + 20, priority: .normal) {
            try await source.read($0, $1)
          }
          #expect(data == Source.bytes(start..<start + 20))
        }
        // The first two run, and the others wait in this order.
        try await until {
          place < 2 ? source.reads.value.count == place + 1 : ranges.waiting == place - 1
        }
      }
      source.gate.open()
      try await group.waitForAll()
    }
    #expect(source.reads.value.count == 5, "three parts of up to a thousand bytes after the first two")
    #expect(ranges.waiting == 0)
  }

  @Test("Expected ranges are read as groups, each once, and other ranges alone")
  func expected() async throws {
    let (source, ranges) = (Source(), ArchiveRanges(plan: RangePlan(gap: 10, most: 1000)))
    source.gate.open()
    let wanted = (UInt64(0)..<100).map { $0 * 25..<$0 * 25 + 20 }
    ranges.expect(wanted)
    for range in wanted.shuffled() {
      let data = try await ranges.bytes(range, priority: .normal) { try await source.read($0, $1) }
      #expect(data == Source.bytes(range))
    }
    #expect(source.reads.value.count == 3)
    _ = try await ranges.bytes(9000..<9001, priority: .normal) { try await source.read($0, $1) }
    #expect(source.reads.value.last == 9000..<9001)
  }

  @Test("Held bytes have a limit, beyond which ranges are read alone")
  func limit() async throws {
    let source = Source()
    source.gate.open()
    let ranges = ArchiveRanges(plan: RangePlan(gap: 0, most: 100), heldLimit: 150)
    let wanted = (UInt64(0)..<40).map { $0 * 20..<$0 * 20 + 20 }
    ranges.expect(wanted)
    for first in 0..<5 {
      for part in 0..<8 {
        let range = wanted[part * 5 + first]
        let data = try await ranges.bytes(range, priority: .normal) { try await source.read($0, $1) }
        #expect(data == Source.bytes(range))
      }
    }
    let reads = source.reads.value
    #expect(reads.filter { $0.count == 100 }.count == 8, "each group once")
    #expect(reads.count > 8 && reads.allSatisfy { $0.count == 100 || $0.count == 20 })
  }

  @Test("A failed or cut read reaches all its readers, and the next read works")
  func failures() async throws {
    let ranges = ArchiveRanges()
    for place in 0..<3 {
      let error = await #expect(throws: BothyError.self) {
        try await ranges.bytes(0..<10, priority: .normal) { range, _ in
          if place == 0 { return Source.bytes(0..<5) }
          throw BothyError(place == 1 ? .changedArchive : .unavailable, "No.")
        }
      }
      #expect(error?.code == [.damagedArchive, .changedArchive, .unavailable][place])
    }
    let data = try await ranges.bytes(0..<10, priority: .normal) { range, _ in Source.bytes(range) }
    #expect(data == Source.bytes(0..<10))
  }

  @Test("A reader that leaves delays no other")
  func cancelled() async throws {
    let (source, ranges) = (Source(), ArchiveRanges(concurrentReads: 1))
    let first = Task {
      try await ranges.bytes(0..<10, priority: .normal) { try await source.read($0, $1) }
    }
    try await until { source.reads.value.count == 1 }
    let left = Task {
      try await ranges.bytes(5_000_000..<5_000_010, priority: .normal) { try await source.read($0, $1) }
    }
    let other = Task {
      try await ranges.bytes(9_000_000..<9_000_010, priority: .normal) { try await source.read($0, $1) }
    }
    try await until { ranges.waiting == 2 }
    left.cancel()
    first.cancel()
    source.gate.open()
    #expect(try await other.value == Source.bytes(9_000_000..<9_000_010))
    await #expect(throws: (any Error).self) { try await left.value }
    await #expect(throws: (any Error).self) { try await first.value }
  }
}
