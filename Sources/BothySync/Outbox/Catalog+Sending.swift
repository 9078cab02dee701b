import BothyStore

extension Catalog {
  /// True if a type has a sensitive field. Constant in the number of records.
  var keepsSecrets: Bool { tables.contains { !$0.sensitivePositions.isEmpty } }

  /// The synced tables, each after those that it refers to, and cycles in declaration order.
  var tablesByReference: [TypeTable] {
    var ordered: [TypeTable] = []
    var seen: Set<Int> = []
    func visit(_ table: TypeTable) {
      guard seen.insert(table.index).inserted else { return }
      for field in table.schema.fields {
        if let type = field.kind.target?.type, let target = tableIfKnown(type) { visit(target) }
      }
      ordered.append(table)
    }
    for table in tables where table.schema.isSynced { visit(table) }
    return ordered.filter(\.schema.isSynced)
  }
}
