import Foundation

/// Reads many ranges of a file with few reads.
enum RangeReading {
  /// The number of reads at a time.
  static let concurrentReads = 4

  /// Returns the bytes of each range. Ranges that are near each other are read together, a few reads at a time.
  ///
  /// Holds all bytes in memory, so the caller limits what it asks for at once. Throws `BothyError` `damagedArchive` if
  /// the file ends before a range does, and `changedArchive` if it isn't of the validator's version.
  static func read(
    _ ranges: [Range<UInt64>], of source: some ByteRangeSource, _ validator: String?,
    plan: RangePlan = RangePlan()
  ) async throws -> [Range<UInt64>: Data] {
    var found: [Range<UInt64>: Data] = [:]
    var members: [Range<UInt64>: [Range<UInt64>]] = [:]
    let groups = plan.merged(ranges)
    for range in Set(ranges) {
      if let group = RangePlan.group(of: range, in: groups) {
        members[group, default: []].append(range)
      } else {
        found[range] = Data()
      }
    }
    try await withThrowingTaskGroup(of: (Range<UInt64>, Data).self) { tasks in
      var (begun, ended) = (0, 0)
      while ended < groups.count {
        while begun < groups.count, begun - ended < concurrentReads {
          let group = groups[begun]
          tasks.addTask { (group, try await whole(group, of: source, validator)) }
          begun += 1
        }
        guard let (group, data) = try await tasks.next() else { break }
        // The bytes between the ranges are dropped at once.
        for range in members[group] ?? [] { found[range] = slice(range, of: data, group) }
        ended += 1
      }
    }
    return found
  }

  /// Returns all bytes of one range.
  static func whole(
    _ range: Range<UInt64>, of source: some ByteRangeSource, _ validator: String?
  ) async throws -> Data {
    let data = try await source.bytes(range, expecting: validator).data
    try check(data, range)
    return data
  }

  /// Checks that all bytes of a range came.
  ///
  /// An archive is opened with its last byte. A server that has nothing at a range now may not say that it has another
  /// file.
  static func check(_ data: Data, _ range: Range<UInt64>) throws(BothyError) {
    if data.isEmpty, !range.isEmpty {
      throw BothyError(.changedArchive, "The archive was replaced while it was being read. Open it again.")
    }
    guard data.count == range.count else {
      throw BothyError(.damagedArchive, "The archive ends before byte \(range.upperBound). Get it again.")
    }
  }

  /// Returns a copy of the bytes of a range within the data of a larger one.
  static func slice(_ range: Range<UInt64>, of data: Data, _ whole: Range<UInt64>) -> Data {
    let start = data.startIndex + Int(range.lowerBound - whole.lowerBound)
    return Data(data[start..<start + range.count])
  }
}
