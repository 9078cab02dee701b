import BothyStore

/// Ranges of keys, each with a number, of which those with a key are found without visiting the others.
///
/// A treap by the lower bounds (Seidel and Aragon, "Randomized Search Trees", 1996). Each node has the greatest upper
/// bound below it (Cormen et al., "Introduction to Algorithms", section 14.3). Inserting and removing cost log n, and a
/// search log n for each range found. The priorities are those of a fixed seed.
struct IntervalTree: Sendable {
  private struct Node: Sendable {
    var range: KeyRange
    var number: Int
    var priority: UInt64
    /// The greatest upper bound of the node and of those below it.
    var most: [UInt8]
    var left = IntervalTree.none
    var right = IntervalTree.none
  }

  private static let none = -1

  private var nodes: [Node] = []
  /// The places in `nodes` without a node.
  private var free: [Int] = []
  private var root = IntervalTree.none
  private var random = SplitMix64(seed: 0)

  /// Makes a tree without ranges.
  init() {}

  /// True if it has no range.
  var isEmpty: Bool { root == Self.none }

  /// Adds a range with a number. An empty range has no key, and isn't added.
  mutating func insert(_ range: KeyRange, _ number: Int) {
    guard range.lower.lexicographicallyPrecedes(range.upper) else { return }
    let node = Node(range: range, number: number, priority: random.next(), most: range.upper)
    let place: Int
    if let last = free.popLast() {
      nodes[last] = node
      place = last
    } else {
      nodes.append(node)
      place = nodes.count - 1
    }
    let (before, after) = split(root, at: range, number)
    let first = merged(before, place)
    root = merged(first, after)
  }

  /// Removes a range that was added with this number, once.
  mutating func remove(_ range: KeyRange, _ number: Int) {
    root = without(range, number, root)
  }

  /// Calls `body` with the numbers of the ranges that have a key. Returns the number of nodes that were visited.
  func visit(_ key: [UInt8], _ body: (Int) -> Void) -> Int {
    var visited = 0
    visit(root, key, &visited, body)
    return visited
  }

  private func visit(_ node: Int, _ key: [UInt8], _ visited: inout Int, _ body: (Int) -> Void) {
    guard node != Self.none else { return }
    visited += 1
    guard key.lexicographicallyPrecedes(nodes[node].most) else { return }
    visit(nodes[node].left, key, &visited, body)
    guard !key.lexicographicallyPrecedes(nodes[node].range.lower) else { return }
    if key.lexicographicallyPrecedes(nodes[node].range.upper) { body(nodes[node].number) }
    visit(nodes[node].right, key, &visited, body)
  }

  // MARK: the treap

  /// Returns true if the node's lower bound comes before that of a range. Ties are broken by the numbers, then by the
  /// upper bounds.
  private func precedes(_ node: Int, _ range: KeyRange, _ number: Int) -> Bool {
    let mine = nodes[node]
    if mine.range.lower != range.lower { return mine.range.lower.lexicographicallyPrecedes(range.lower) }
    if mine.number != number { return mine.number < number }
    return mine.range.upper.lexicographicallyPrecedes(range.upper)
  }

  /// Divides a subtree into the nodes before a range and the others.
  private mutating func split(_ node: Int, at range: KeyRange, _ number: Int) -> (before: Int, after: Int) {
    guard node != Self.none else { return (Self.none, Self.none) }
    if precedes(node, range, number) {
      let (before, after) = split(nodes[node].right, at: range, number)
      nodes[node].right = before
      update(node)
      return (node, after)
    }
    let (before, after) = split(nodes[node].left, at: range, number)
    nodes[node].left = after
    update(node)
    return (before, node)
  }

  /// Joins two subtrees, of which each node of the first comes before the second.
  private mutating func merged(_ first: Int, _ second: Int) -> Int {
    if first == Self.none { return second }
    if second == Self.none { return first }
    if nodes[first].priority > nodes[second].priority {
      let joined = merged(nodes[first].right, second)
      nodes[first].right = joined
      update(first)
      return first
    }
    let joined = merged(first, nodes[second].left)
    nodes[second].left = joined
    update(second)
    return second
  }

  private mutating func without(_ range: KeyRange, _ number: Int, _ node: Int) -> Int {
    guard node != Self.none else { return Self.none }
    if nodes[node].number == number, nodes[node].range == range {
      free.append(node)
      return merged(nodes[node].left, nodes[node].right)
    }
    if precedes(node, range, number) {
      let rest = without(range, number, nodes[node].right)
      nodes[node].right = rest
    } else {
      let rest = without(range, number, nodes[node].left)
      nodes[node].left = rest
    }
    update(node)
    return node
  }

  private mutating func update(_ node: Int) {
    var most = nodes[node].range.upper
    for child in [nodes[node].left, nodes[node].right] where child != Self.none {
      if most.lexicographicallyPrecedes(nodes[child].most) { most = nodes[child].most }
    }
    nodes[node].most = most
  }
}
