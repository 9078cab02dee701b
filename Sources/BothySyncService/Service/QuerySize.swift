import BothyStore

/// The limits of one query to a server.
extension AnyQuery {
  /// Throws `BothyError` `.invalidQuery`, with another way to make the query.
  func checkSize() throws(BothyError) {
    let conditions = filter.conditions
    guard conditions <= FixedLimits.conditions else {
      throw BothyError(
        .invalidQuery,
        "The condition has \(conditions) parts; a server takes \(FixedLimits.conditions). Use 'in' for one of many values, or "
          + "split the query.")
    }
    guard filter.longestContained <= FixedLimits.containedText else {
      throw BothyError(
        .invalidQuery,
        "A condition looks for \(filter.longestContained) bytes; a server takes \(FixedLimits.containedText). Look for a part of "
          + "the text, or compare all of it with '='.")
    }
    guard order.count <= FixedLimits.sortKeys else {
      throw BothyError(
        .invalidQuery,
        "The query is sorted by \(order.count) keys; a server takes \(FixedLimits.sortKeys). Leave some out.")
    }
  }
}

extension ConditionTree {
  /// The number of conditions; a list of values counts as one.
  fileprivate var conditions: Int {
    switch self {
    case .and(let parts), .or(let parts): parts.reduce(0) { $0.addingClamped($1.conditions) }
    case .not(let part): part.conditions
    default: 1
    }
  }

  /// The most bytes of a text that the conditions look for within others. The words of a search count as one text.
  fileprivate var longestContained: Int {
    switch self {
    case .and(let parts), .or(let parts): parts.reduce(0) { max($0, $1.longestContained) }
    case .not(let part): part.longestContained
    case .contains(_, let text, _), .matches(let text, _, _): text.utf8.count
    default: 0
    }
  }
}
