import BothyCache
import BothyStore

/// Ids of features that have none of OpenStreetMap.
enum ComputedID {
  /// Returns an id that depends on the texts alone. It is at least 2^62, which no OpenStreetMap id is.
  static func of(_ texts: String...) -> Int64 {
    var bytes: [UInt8] = []
    for text in texts {
      bytes += text.utf8
      bytes.append(0)
    }
    return Int64(1) << 62 | Int64(XXH64.hash(bytes) >> 2)
  }

  /// Returns true for an id that `of` has returned, and false for an element's.
  static func isComputed(_ id: Int64) -> Bool { id >= Int64(1) << 62 }

  /// Returns a position as text, to a millionth of a degree.
  static func text(_ position: Coordinate?) -> String {
    guard let position else { return "" }
    let numbers = [position.latitude, position.longitude].map { Int64(($0 * 1e6).rounded()) }
    return "\(numbers[0]),\(numbers[1])"
  }

  /// The kinds of OpenStreetMap elements.
  enum Element: UInt64 {
    case node = 1
    case way = 2
    case relation = 3

    /// Returns the id as tiles for pedestrians write it: nodes are positive, ways negative, relations below -10^17.
    func id(_ number: UInt64) -> Int64? {
      guard let number = Int64(exactly: number), number > 0, number < 1_000_000_000_000_000_000 else {
        return nil
      }
      switch self {
      case .node: return number
      case .way: return -number
      case .relation: return -100_000_000_000_000_000 - number
      }
    }

    init?(name: some StringProtocol) {
      switch name {
      case "node", "n", "N": self = .node
      case "way", "w", "W": self = .way
      case "relation", "r", "R": self = .relation
      default: return nil
      }
    }
  }
}

extension TileSchema.IDs {
  /// Returns the OpenStreetMap id of a feature, or `nil` if the tile doesn't state it.
  func element(_ id: UInt64?) -> Int64? {
    guard let id, id > 0 else { return nil }
    switch self {
    case .computed: return nil
    case .planetiler: return ComputedID.Element(rawValue: id % 10)?.id(id / 10)
    case .protomaps: return ComputedID.Element(rawValue: id >> 44)?.id(id & (1 << 44 - 1))
    }
  }
}
