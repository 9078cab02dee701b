/// The first positions of several ordered ranges.
struct PositionMerge {
  let limit: Int
  private(set) var positions: [Int64] = []
  /// The last position that may be among the first ones.
  private(set) var end = Int64.max

  init(limit: Int) { self.limit = max(0, limit) }

  mutating func add(_ found: [Int64]) {
    guard !found.isEmpty else { return }
    // A record that is shared in two ways is found twice.
    positions = positions.isEmpty ? found : Set(positions).union(found).sorted()
    if positions.count >= limit {
      positions.removeLast(positions.count - limit)
      end = positions.last ?? .max
    }
  }
}
