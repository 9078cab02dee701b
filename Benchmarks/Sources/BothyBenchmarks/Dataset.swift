import BothyStore
import Foundation

/// The rows and queries of one run. They are equal for every contender, from a fixed seed.
struct Dataset: Sendable {
  /// The rows in the order of their ids, which rise with time.
  let items: [Item]
  /// The rows that are inserted one a transaction.
  let singles: [Item]
  /// Every row in random order.
  let shuffled: [Item]
  /// Existing rows with other values.
  let updates: [Item]
  let deletions: [Item]
  /// The range of `count` that selects about a hundredth of all rows, a thousand at the most.
  let range: Range<Int>

  init(rows: Int) {
    var random = Randomness(state: 20_251_121)
    var rest = (0..<rows + min(1000, rows)).map { Self.item($0, of: rows, &random) }
    singles = Array(rest.suffix(min(1000, rows)))
    rest.removeLast(singles.count)
    items = rest
    shuffled = items.shuffled(using: &random)
    let part = max(1, min(10_000, rows / 10))
    updates = shuffled.prefix(part).map { item in
      var changed = item
      changed.name += "*"
      changed.count += 1
      changed.price *= 2
      return changed
    }
    deletions = Array(shuffled.suffix(part))
    let width = max(1, min(1000, rows / 100))
    range = rows / 2..<rows / 2 + width
  }

  /// Returns an id of the form of a UUIDv7, which rises with its index.
  static func id(_ index: Int, _ random: inout Randomness) -> String {
    let time = UInt64(1_760_000_000_000 + index)
    let (middle, end) = (random.next() & 0xFFF, random.next())
    return String(
      format: "%08llx-%04llx-7%03llx-a%03llx-%012llx", time >> 16, time & 0xFFFF, middle, end >> 52,
      end & 0xFFFF_FFFF_FFFF)
  }

  private static func item(_ index: Int, of rows: Int, _ random: inout Randomness) -> Item {
    let words = ["oak", "birch", "rowan", "heather", "bracken", "lochan", "cairn", "glen"]
    return Item(
      id: id(index, &random),
      name:
        "\(words.randomElement(using: &random) ?? "") \(Int.random(in: 1_000_000..<10_000_000, using: &random)) bothy",
      count: Int.random(in: 0..<max(rows, 1), using: &random),
      price: Double(Int.random(in: 0..<1_000_000, using: &random)) / 128, active: Bool.random(using: &random),
      created: Date(timeIntervalSince1970: Double(1_700_000_000 + index)),
      note: index.isMultiple(of: 2) ? nil : "beside the burn, key under stone \(index % 1000)")
  }
}

/// SplitMix64, so that equal runs have equal rows.
struct Randomness: RandomNumberGenerator {
  var state: UInt64

  mutating func next() -> UInt64 {
    state &+= 0x9E37_79B9_7F4A_7C15
    var word = state
    word = (word ^ word >> 30) &* 0xBF58_476D_1CE4_E5B9
    word = (word ^ word >> 27) &* 0x94D0_49BB_1331_11EB
    return word ^ word >> 31
  }
}
