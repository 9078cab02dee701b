import BothyStore

/// The limits of one query to a server. Each condition and each sort key may need as much memory as the largest record.
extension AnyQuery {
  static let mostConditions = 100
  static let mostKeys = 8

  /// Throws `BothyError` `.invalidQuery`, with another way to make the query.
  func checkSize() throws(BothyError) {
    let conditions = filter.conditions
    guard conditions <= Self.mostConditions else {
      throw BothyError(
        .invalidQuery,
        "The condition has \(conditions) parts; a server takes \(Self.mostConditions). Use 'in' for one of many values, or "
          + "split the query.")
    }
    guard order.count <= Self.mostKeys else {
      throw BothyError(
        .invalidQuery,
        "The query is sorted by \(order.count) keys; a server takes \(Self.mostKeys). Leave some out.")
    }
  }
}

extension Condition {
  /// The number of conditions; a list of values counts as one.
  fileprivate var conditions: Int {
    switch self {
    case .and(let parts), .or(let parts): parts.reduce(0) { $0.addingClamped($1.conditions) }
    case .not(let part): part.conditions
    default: 1
    }
  }
}
