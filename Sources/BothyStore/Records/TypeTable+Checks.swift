import struct Foundation.UUID

extension TypeTable {
  /// Returns the record's values in schema order, each checked against its field. Fields that aren't given and weren't
  /// cleared have their defaults. Throws `BothyError` `unknownField` or `.invalidValue`.
  package func checkedValues(_ record: AnyRecord) throws(BothyError) -> [FieldValue] {
    for name in record.fields.keys where positions[name] == nil { throw unknownField(name) }
    var values: [FieldValue] = []
    values.reserveCapacity(schema.fields.count)
    for (position, field) in schema.fields.enumerated() {
      let value = record.fields[field.name] ?? (record.clears(field) ? nil : field.defaultValue) ?? .null
      values.append(try checked(value, for: position))
    }
    return values
  }

  func checked(_ value: FieldValue, for position: Int) throws(BothyError) -> FieldValue {
    let field = schema.fields[position]
    guard value.fits(field) else {
      let place = "\(schema.name).\(field.name)"
      throw BothyError(
        .invalidValue,
        value.isNull
          ? "\(place) is required and has no default; give it a value."
          : "\(place) takes \(field.kind.phrase).")
    }
    if field.kind == .double, case .int(let number) = value { return .double(Double(number)) }
    // Conditions and unique fields compare the lower-case text.
    if field.kind == .uuid, let id = value.text.flatMap({ UUID(uuidString: $0) }) { return FieldValue(id) }
    return value
  }

  /// Returns the reason why a value can't be stored in the field that has the column `column`, counted from the first
  /// field's.
  func refusal(of value: FieldValue, inColumn column: Int32) -> BothyError {
    let position = firstColumn.lastIndex { $0 - 1 <= column } ?? 0
    let place = "\(schema.name).\(schema.fields[position].name)"
    switch value {
    case .coordinate(let coordinate):
      return BothyError(
        .invalidValue,
        "\(place) can't be (\(coordinate.latitude), \(coordinate.longitude)), which isn't on earth: a latitude is "
          + "within ±90, a longitude within ±180 degrees.")
    case .double(let number) where schema.fields[position].kind == .date:
      return BothyError(
        .invalidValue,
        "\(place) can't be \(number) seconds from 1970: a date has whole milliseconds, in 64 bits.")
    case .double where [.json, .blob].contains(schema.fields[position].kind):
      return BothyError(
        .invalidValue,
        "\(place) can't be written as JSON: it has a number that isn't finite, or its encoding fails.")
    case .double(let number):
      return BothyError(
        .invalidValue,
        "\(place) can't be \(number): JSON has finite numbers only. Leave it out, or give a number.")
    case .json:
      return BothyError(
        .invalidValue,
        "\(place) is nested deeper than \(JSONReader.maximumValueDepth) levels. Make it flatter, or keep it as text or in "
          + "a blob.")
    default: return BothyError(.invalidValue, "\(place) takes \(schema.fields[position].kind.phrase).")
    }
  }

  func unknownField(_ name: String) -> BothyError {
    let known = schema.fields.map(\.name).joined(separator: ", ")
    return BothyError(.unknownField, "\(schema.name) has no field '\(name)'. Known: \(known).")
  }
}
