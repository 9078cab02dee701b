extension AnyQuery {
  /// Returns the query with each value converted to the kind of its field.
  ///
  /// Throws `BothyError` `unknownField` or `invalidQuery`. The message names the mistake and the alternatives.
  package func checked(for schema: TypeSchema) throws(BothyError) -> AnyQuery {
    var query = self
    query.filter = try filter.checked(for: schema)
    query.order = try resolvedOrder(schema)
    for key in order where !key.isRank {
      let kind = try schema.queryField(key.field).kind
      if let origin = key.origin {
        guard kind == .coordinate else {
          throw .invalidQuery(
            "\(schema.name).\(key.field) has no distance: it is of the kind '\(kind.name)', not 'coordinate'."
          )
        }
        guard origin.isOnEarth else {
          throw .invalidQuery(
            "The distance of \(schema.name).\(key.field) is measured from a place within ±90 and ±180.")
        }
      } else if key.isNatural {
        guard kind.isText, schema[key.field]?.isDecimal != true else {
          throw .invalidQuery("\(schema.name).\(key.field) has no natural order: it isn't text.")
        }
      } else if !kind.isOrdered {
        let remedy = kind == .coordinate ? " Sort by its distance from a place: 'nearest'." : ""
        throw .invalidQuery(
          "\(schema.name).\(key.field) has no order: it is of the kind '\(kind.name)'.\(remedy)")
      }
    }
    guard (limit ?? 0) >= 0, offset >= 0 else {
      throw .invalidQuery("The limit and the offset of a query must be 0 or more.")
    }
    for name in include {
      guard try schema.queryField(name).kind.target != nil else {
        let references = schema.fields.filter { $0.kind.target != nil }.map(\.name).joined(separator: ", ")
        throw .invalidQuery(
          "\(schema.name).\(name) isn't a reference and can't be included. References: \(references).")
      }
    }
    return query
  }

  /// Returns the sort keys, with the query's first search in that of the relevance. Throws `BothyError` `invalidQuery`
  /// if the query has none.
  package func resolvedOrder(_ schema: TypeSchema) throws(BothyError) -> [SortKey] {
    guard order.contains(where: \.isRank) else { return order }
    guard let search = filter.search(in: schema) else {
      throw .invalidQuery(
        "'\(SortKey.rank)' sorts by the relevance for a search, and the query has none. Add 'matches' to its "
          + "condition.")
    }
    return order.map { key in
      var key = key
      if key.isRank { key.search = search }
      return key
    }
  }

  /// The sort keys followed by the id, so that the order is total.
  package var totalOrder: [SortKey] {
    order.contains(where: \.isTotal) ? order : order + [SortKey("id")]
  }
}
