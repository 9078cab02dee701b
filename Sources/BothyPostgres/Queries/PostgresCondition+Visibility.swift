import BothySyncService

extension PostgresCondition {
  /// Returns a condition on the positions of records of the type `$2` that a filter shows, or an empty text for a type
  /// that it doesn't restrict. Begins with `AND`.
  mutating func visible(_ filter: VisibilityFilter?) -> String {
    guard let filter, filter.restrictedTypes.contains(type.name) else { return "" }
    let (owner, keys) = (argument(filter.owner), argument(filter.audienceKeys))
    return """
       AND position IN (
        SELECT position FROM record WHERE space = $1 AND owner = \(owner) AND type = $2
        UNION ALL
        SELECT position FROM audience WHERE space = $1 AND name = ANY(\(keys)) AND type = $2)
      """
  }

  private mutating func argument(_ text: String?) -> String {
    bind(text)
    return "$\(statement.parameterCount)"
  }

  private mutating func argument(_ texts: [String]) -> String {
    bind(texts)
    return "$\(statement.parameterCount)"
  }
}
