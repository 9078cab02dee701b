/// The result of a query over records in memory: the reference for every other implementation.
extension AnyQuery {
  /// Returns the records of the query's type that it describes, in its order.
  ///
  /// Reads every record; sorting costs n log n comparisons. Throws `BothyError` `.unknownField` or `.invalidQuery` if
  /// the query doesn't fit the schema.
  package func evaluate(over records: [AnyRecord], schema: TypeSchema) throws(BothyError) -> [AnyRecord] {
    let query = try checked(for: schema)
    return query.arranged(records.filter { query.holds($0, schema) }, schema)
  }

  /// Returns records that meet the condition in the query's order, without those that its offset and limit leave out. The
  /// query is a checked one.
  package func arranged(_ records: [AnyRecord], _ schema: TypeSchema) -> [AnyRecord] {
    var found = records
    let keys = totalOrder
    let isNoted = keys.contains { $0.notedName != nil }
    if isNoted { for index in found.indices { found[index].noteSortKeys(keys, schema) } }
    found.sort { $0.precedes($1, by: keys, schema) }
    if isNoted { for index in found.indices { found[index].removeSortKeys(keys) } }
    return Array(found.dropFirst(offset).prefix(limit ?? .max))
  }

  /// True if a record meets the condition and is in the container. Ignores the limit. The query is a checked one.
  package func holds(_ record: AnyRecord, _ schema: TypeSchema) -> Bool {
    record.type == type && holds(record.container)
      && filter.evaluate(schema) { record.queried($0, schema) }
  }
}

extension AnyRecord {
  /// Returns the value of a field or pseudo-field.
  package func queried(_ name: String, _ schema: TypeSchema) -> FieldValue {
    if schema.index(of: name) != nil { return self[name] }
    switch QueryField.pseudo(name) {
    case .id: return .text(id)
    case .container: return .text(container)
    case .version: return version.map { .text($0) } ?? .null
    case .created: return metadata.createdTime.map { .date($0) } ?? .null
    case .modified: return metadata.modifiedTime.map { .date($0) } ?? .null
    case .owner: return metadata.owner.map { .text($0) } ?? .null
    case .field, nil: return .null
    }
  }

  /// Returns the metres between a coordinate and a place. A record without a coordinate is infinitely far away.
  package func distance(of field: String, from origin: Coordinate) -> Double {
    guard case .coordinate(let place) = self[field] else { return .infinity }
    return place.distance(to: origin)
  }

  /// True if the record comes before another one in an order.
  package func precedes(_ other: AnyRecord, by keys: [SortKey], _ schema: TypeSchema) -> Bool {
    for key in keys {
      if let origin = key.origin {
        let (mine, theirs) = (
          distance(of: key.field, from: origin), other.distance(of: key.field, from: origin)
        )
        if mine != theirs { return (mine < theirs) == key.ascending }
        continue
      }
      let mine = orderValue(key, schema)
      let theirs = other.orderValue(key, schema)
      if mine.sortsBefore(theirs) { return key.ascending }
      if theirs.sortsBefore(mine) { return !key.ascending }
    }
    return false
  }
}

extension AnyQuery {
  /// True if the query includes the records of a container. Names are compared by their bytes, like texts.
  fileprivate func holds(_ other: String) -> Bool {
    guard let container, !container.utf8.elementsEqual(other.utf8) else { return true }
    return includesChildren && (container.isEmpty || other.utf8.starts(with: (container + "/").utf8))
  }
}
