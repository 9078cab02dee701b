/// The properties of a feature by key, as OpenStreetMap's tags. Equality doesn't depend on their order.
package struct Tags: Hashable, Sendable {
  /// The tags in the order of their keys' UTF-8 bytes, each key once.
  fileprivate var pairs: [Pair] = []

  fileprivate struct Pair: Hashable, Sendable {
    var key: String
    var value: String
  }

  init() {}

  /// Creates tags from pairs in any order. Of two with one key, the last counts.
  ///
  /// Sorts many at once, as inserting each costs the square of their number. Few are quicker to insert.
  init(_ pairs: [(key: String, value: String)]) {
    self.pairs.reserveCapacity(pairs.count)
    guard pairs.count > 64 else {
      for (key, value) in pairs { append(key, value) }
      return
    }
    let sorted = pairs.enumerated().map { (index: $0.offset, key: $0.element.key, value: $0.element.value) }
      .sorted { $0.key == $1.key ? $0.index < $1.index : $0.key < $1.key }
    for (_, key, value) in sorted { append(key, value) }
  }

  /// The number of tags, each key once.
  package var count: Int { pairs.count }
  /// True if the feature has no tags.
  package var isEmpty: Bool { pairs.isEmpty }

  /// Returns the value of a key. Uses a linear search, as features have few tags.
  package subscript(_ key: String) -> String? {
    for pair in pairs where pair.key == key { return pair.value }
    return nil
  }

  /// Adds a tag and replaces one with the same key. If keys come in order, it only appends.
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
  package struct Iterator: IteratorProtocol {
    fileprivate var pairs: IndexingIterator<[Pair]>

    package mutating func next() -> (key: String, value: String)? {
      pairs.next().map { ($0.key, $0.value) }
    }
  }

  package func makeIterator() -> Iterator { Iterator(pairs: pairs.makeIterator()) }

  package var underestimatedCount: Int { pairs.count }
}

extension Tags: ExpressibleByDictionaryLiteral {
  package init(dictionaryLiteral elements: (String, String)...) {
    for (key, value) in elements { append(key, value) }
  }
}
