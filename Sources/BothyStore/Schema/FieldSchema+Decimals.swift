import Foundation

/// The values of fields of decimals as people and other programs write them. Other fields have one form.
extension FieldSchema {
  /// Returns the stored form of a number, exact up to 15 digits of one with a fraction. Nil for all other values, and for
  /// a field without decimals.
  func decimal(_ number: FieldValue) -> FieldValue? {
    guard isDecimal else { return nil }
    let value: Decimal?
    switch number {
    case .int(let whole): value = Decimal(whole)
    // The shortest text of a number is the one that was written, such as 0.1.
    case .double(let number): value = Decimal(string: number.description)
    default: value = nil
    }
    return value.flatMap { DecimalDigits($0) }.map { .text($0.stored) }
  }

  /// The name of the kind of the field's values. A decimal isn't a text.
  package var kindName: String { isDecimal ? "decimal" : kind.name }

  /// True if the other field has values of the same kind, and refers to the same type if it refers to any.
  package func hasKind(of other: FieldSchema) -> Bool {
    kindName == other.kindName && kind.target?.type == other.kind.target?.type
  }

  /// The kind of the field's values as part of a sentence.
  package var phrase: String { isDecimal ? "a decimal" : kind.phrase }

  /// Reads a value from JSON. A decimal is also read as a number or its text, `12.5`. Throws `FieldValueError`, also for
  /// other text in place of a decimal.
  package func value(written json: JSONValue) throws -> FieldValue {
    if let stored = decimal(FieldValue(guessing: json)) { return stored }
    guard isDecimal, let text = json.stringValue else { return try FieldValue(json: json, kind: kind) }
    guard let digits = DecimalDigits(written: text) ?? DecimalDigits(stored: text.utf8) else {
      throw FieldValueError(expected: kind, found: "'\(text.prefix(40))', which isn't a number such as 12.5")
    }
    return .text(digits.stored)
  }

  /// Returns a decimal as people write it, `12.5`, and every other value as it is.
  package func written(_ value: FieldValue) -> FieldValue {
    guard isDecimal, let text = value.text, let digits = DecimalDigits(stored: text.utf8) else {
      return value
    }
    return .text(digits.written)
  }

  /// Returns the JSON of a decimal as people write it, and all other JSON as it is.
  package func written(json: JSONValue) -> JSONValue {
    guard isDecimal, let text = json.stringValue, let shown = written(.text(text)).text else { return json }
    return .string(shown)
  }
}

extension TypeSchema {
  /// Returns a record with its decimals as people write them, for tools that show it.
  package func written(_ record: AnyRecord) -> AnyRecord {
    var shown = record
    for field in fields where field.isDecimal {
      if let value = record.fields[field.name] { shown[field.name] = field.written(value) }
    }
    return shown
  }
}
