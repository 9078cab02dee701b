/// Lists as fields: references by their ids, other values as JSON.
///
/// ```swift
/// @Entity struct Hike {
///   @Merge(.setUnion) var tags: [String] = []
///   var heights: [Double] = []
///   var stops: [Reference<City>] = []
/// }
/// ```
extension Array: FieldConvertible where Element: FieldConvertible {
  /// Stores a JSON array of the elements, in order, each in its own form. JSON has the same array.
  ///
  /// A changed list of references costs the removal and the insertion of one row of an index for each id. A column with
  /// anything but an array of strings throws `BothyError` `.corrupt` when it is read. A list of other values has no
  /// index, and content that its elements don't take throws `.invalidValue`.
  public static var fieldCoding: FieldKind.Coding<[Element]> {
    guard Element.self is any AnyReference.Type else { return valueCoding }
    return FieldKind.Coding(
      FieldKind(.references(to: Element.fieldKind.value.target?.type ?? "", onDelete: .nullify)),
      encode: { $1.encode(list: $0.stored.map { $0.text ?? "" }) },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        try restored(from: try fields.list().map { .text($0) })
      })
  }

  private static var valueCoding: FieldKind.Coding<[Element]> {
    FieldKind.Coding(
      FieldKind(.json),
      encode: { list, fields in
        let values = list.stored
        let element = FieldSchema(
          "element", Element.fieldKind.value, optional: Element.self is any OptionalField.Type)
        // A number in a field of JSON is refused.
        guard values.allSatisfy({ $0.fits(element) }) else { return fields.refuse(.double(.nan)) }
        fields.encode(json: JSONValue.array(values.map(\.json)).canonicalText)
      },
      decode: { (fields: inout FieldDecoder) throws(BothyError) in
        let text = try fields.json()
        do {
          let kind = Element.fieldKind.value
          guard let list = try JSONValue(parsing: text).arrayValue else {
            throw FieldValueError(expected: .json, found: "no list")
          }
          return try restored(from: try list.map { try FieldValue(json: $0, kind: kind) })
        } catch {
          throw BothyError(
            .invalidValue, "The stored JSON isn't a list of \(Element.self).", underlying: error)
        }
      })
  }

  /// The elements as values.
  private var stored: [FieldValue] {
    var encoder = FieldEncoder(gathering: count)
    for element in self { element.encodeField(to: &encoder) }
    return encoder.values
  }

  private static func restored(from values: [FieldValue]) throws(BothyError) -> [Element] {
    var decoder = FieldDecoder(values: values, type: "a list")
    var list: [Element] = []
    list.reserveCapacity(values.count)
    for _ in values { list.append(try Element(fromField: &decoder)) }
    return list
  }
}
