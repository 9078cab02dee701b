public import Foundation

/// The types of fields that are stored as values of another type, with its order, its indexes and its JSON.
extension Decimal: FieldConvertible {
  /// Stores text that sorts by its bytes like the numbers, exactly. JSON has the same text, `b12.5` for 12.5.
  ///
  /// The letter counts the digits before the point. Every server, also one without a schema, thus compares
  /// and sorts decimals as numbers. A write of NaN throws `BothyError` `.invalidValue`. So does a read of other text.
  /// Costs about a microsecond more than text.
  public static var fieldCoding: FieldKind.Coding<Decimal> {
    FieldKind.Coding(
      FieldKind(.text, isDecimal: true),
      encode: { value, fields in
        // A field of text refuses a number.
        if let digits = DecimalDigits(value) {
          fields.encode(digits.stored)
        } else {
          fields.refuse(.double(.nan))
        }
      },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let text = try fields.text()
        guard let value = DecimalDigits(stored: text.utf8)?.decimal else {
          throw BothyError(.invalidValue, "'\(text.prefix(40))' is not the text of a decimal.")
        }
        return value
      })
  }
}

extension URL: FieldConvertible {
  /// Stores the absolute text of the URL, of the kind of `String`. JSON has the same text, by whose bytes queries compare.
  ///
  /// A relative URL is stored as an absolute one. Text that isn't a URL throws `BothyError`
  /// `.invalidValue` when it is read, and text with characters that a URL has to escape is read escaped.
  public static var fieldCoding: FieldKind.Coding<URL> {
    FieldKind.Coding(
      storing: { $0.absoluteString },
      restoring: { (text: String) throws(BothyError) in
        guard let url = URL(string: text) else {
          throw BothyError(.invalidValue, "'\(text.prefix(40))' is not a URL.")
        }
        return url
      })
  }
}

extension FieldValue {
  /// Creates the stored form of a value, for records without a Swift type and for steps of a migration.
  ///
  /// ```swift
  /// let step = Migration(
  ///   to: 2, .convertField(type: "Bill", field: "total", from: Int.self) {
  ///     if case .int(let pence) = $0 { FieldValue(Decimal(pence) / 100) } else { FieldValue(Decimal(0)) }
  ///   })
  /// ```
  public init(_ value: some FieldConvertible) { self = value.fieldValue }
}
