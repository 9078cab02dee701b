/// The properties of a feature, key by key: OpenStreetMap's tags. Equal in whatever order they came.
public struct Tags: Hashable, Sendable {
  /// In the order of their keys' UTF-8 bytes, each key once.
  fileprivate var pairs: [Pair] = []

  fileprivate struct Pair: Hashable, Sendable {
    var key: String
    var value: String
  }

  init() {}

  /// How many tags there are, each key once.
  public var count: Int { pairs.count }
  /// Whether there is no tag.
  public var isEmpty: Bool { pairs.isEmpty }

  /// Looks through the keys one by one; there are few.
  public subscript(_ key: String) -> String? {
    for pair in pairs where pair.key == key { return pair.value }
    return nil
  }

  /// Adds a tag; of those with one key the last counts. Costs nothing but the append when keys come in order.
  mutating func append(_ key: String, _ value: String) {
    let pair = Pair(key: key, value: value)
    guard let last = pairs.last, !(last.key < key) else { return pairs.append(pair) }
    let place = pairs.firstIndex { !($0.key < key) } ?? pairs.endIndex
    if place < pairs.endIndex, pairs[place].key == key {
      pairs[place].value = value
    } else {
      pairs.insert(pair, at: place)
    }
  }
}

extension Tags: Sequence {
  public struct Iterator: IteratorProtocol {
    fileprivate var pairs: IndexingIterator<[Pair]>

    public mutating func next() -> (key: String, value: String)? {
      pairs.next().map { ($0.key, $0.value) }
    }
  }

  public func makeIterator() -> Iterator { Iterator(pairs: pairs.makeIterator()) }

  public var underestimatedCount: Int { pairs.count }
}

extension Tags: ExpressibleByDictionaryLiteral {
  public init(dictionaryLiteral elements: (String, String)...) {
    for (key, value) in elements { append(key, value) }
  }
}
