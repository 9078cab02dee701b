extension TypeTable {
  /// The record's values in schema order, defaults filled in, each checked against its field.
  /// Throws `StoreError` `.unknownField` or `.invalidValue`.
  package func checkedValues(_ record: Record) throws(StoreError) -> [FieldValue] {
    for name in record.fields.keys where positions[name] == nil { throw unknownField(name) }
    var values: [FieldValue] = []
    values.reserveCapacity(schema.fields.count)
    for (position, field) in schema.fields.enumerated() {
      let value = record.fields[field.name] ?? field.defaultValue ?? .null
      values.append(try checked(value, for: position))
    }
    return values
  }

  func checked(_ value: FieldValue, for position: Int) throws(StoreError) -> FieldValue {
    let field = schema.fields[position]
    guard value.fits(field) else {
      let place = "\(schema.name).\(field.name)"
      throw StoreError(
        .invalidValue,
        value.isNull
          ? "\(place) is required and has no default; give it a value."
          : "\(place) takes \(field.kind.phrase).")
    }
    if field.kind == .double, case .int(let number) = value { return .double(Double(number)) }
    return value
  }

  /// The error for a value that is nested too deep, in the field that has this column; columns count from 0.
  func tooDeep(at column: Int32) -> StoreError {
    let field = firstColumn.firstIndex(of: column + 1).map { schema.fields[$0].name } ?? "?"
    return StoreError(
      .invalidValue,
      "\(schema.name).\(field) is nested deeper than \(JSONReader.maximumValueDepth) levels. "
        + "Make it flatter, or keep it as text or in a blob.")
  }

  func unknownField(_ name: String) -> StoreError {
    let known = schema.fields.map(\.name).joined(separator: ", ")
    return StoreError(.unknownField, "\(schema.name) has no field '\(name)'. Known: \(known).")
  }
}
