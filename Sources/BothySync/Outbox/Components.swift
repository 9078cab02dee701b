/// Finds the strongly connected components of a directed graph, by Tarjan's algorithm. Pure, and without recursion, so
/// that a chain can have any length.
struct Components<Node: Hashable> {
  private let edges: (Node) throws -> [Node]
  private var order: [Node: Int] = [:]
  private var lowest: [Node: Int] = [:]
  private var open: [Node] = []
  private var isOpen: Set<Node> = []
  private var found: [[Node]] = []

  /// Returns the components with more than one node that are reachable from `roots`. Calls `edges` once for each node.
  static func cycles(from roots: [Node], edges: @escaping (Node) throws -> [Node]) throws -> [[Node]] {
    var components = Components(edges: edges)
    for root in roots where components.order[root] == nil { try components.visit(root) }
    return components.found.filter { $0.count > 1 }
  }

  private init(edges: @escaping (Node) throws -> [Node]) { self.edges = edges }

  private mutating func visit(_ root: Node) throws {
    var path: [(node: Node, rest: ArraySlice<Node>)] = [try enter(root)]
    while let (node, rest) = path.last {
      guard let next = rest.first else {
        path.removeLast()
        if let parent = path.last?.node { lower(parent, to: lowest[node]) }
        close(node)
        continue
      }
      path[path.count - 1].rest = rest.dropFirst()
      if order[next] == nil {
        try path.append(enter(next))
      } else if isOpen.contains(next) {
        lower(node, to: order[next])
      }
    }
  }

  private mutating func enter(_ node: Node) throws -> (node: Node, rest: ArraySlice<Node>) {
    lowest[node] = order.count
    order[node] = order.count
    open.append(node)
    isOpen.insert(node)
    return (node, try edges(node)[...])
  }

  private mutating func lower(_ node: Node, to number: Int?) {
    if let number { lowest[node] = min(lowest[node] ?? number, number) }
  }

  /// Closes a component if no earlier node is reachable from the node.
  private mutating func close(_ node: Node) {
    guard lowest[node] == order[node] else { return }
    var part: [Node] = []
    while let last = open.popLast() {
      isOpen.remove(last)
      part.append(last)
      if last == node { break }
    }
    found.append(part)
  }
}
