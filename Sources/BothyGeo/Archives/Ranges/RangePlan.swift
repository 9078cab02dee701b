/// Merges byte ranges that are near each other, so that they cost one read together. It is pure.
package struct RangePlan: Sendable, Hashable {
  /// The most bytes between two ranges that are read along with them.
  package var gap: UInt64
  /// The most bytes of a merged range. A single range may have more.
  package var most: UInt64

  /// Creates a plan. By default 64 KB are read along, and merged ranges have up to 4 MB.
  package init(gap: UInt64 = 64 << 10, most: UInt64 = 4 << 20) {
    self.gap = gap
    self.most = most
  }

  /// Returns ranges in order, each of which has one or more of the given ones whole. Leaves out empty ranges.
  package func merged(_ ranges: some Sequence<Range<UInt64>>) -> [Range<UInt64>] {
    var merged: [Range<UInt64>] = []
    let sorted = ranges.filter { !$0.isEmpty }.sorted {
      ($0.lowerBound, $0.upperBound) < ($1.lowerBound, $1.upperBound)
    }
    for range in sorted {
      guard let last = merged.last, joins(last, range) else {
        merged.append(range)
        continue
      }
      merged[merged.count - 1] = last.lowerBound..<max(last.upperBound, range.upperBound)
    }
    return merged
  }

  private func joins(_ last: Range<UInt64>, _ next: Range<UInt64>) -> Bool {
    if next.upperBound <= last.upperBound { return true }
    let between = next.lowerBound > last.upperBound ? next.lowerBound - last.upperBound : 0
    return between <= gap && next.upperBound - last.lowerBound <= most
  }

  /// Returns the merged range that has a range whole, by a binary search. `merged` is a result of `merged(_:)`.
  package static func group(
    of range: Range<UInt64>, in merged: [Range<UInt64>]
  ) -> Range<UInt64>? {
    var (low, high) = (0, merged.count)
    while low < high {
      let middle = (low + high) / 2
      if merged[middle].lowerBound <= range.lowerBound { low = middle + 1 } else { high = middle }
    }
    // A range that is too long to be merged may overlap its neighbour, so the one before can have it too.
    for place in [low - 1, low - 2] where place >= 0 {
      if merged[place].upperBound >= range.upperBound { return merged[place] }
    }
    return nil
  }
}
