/// A condition on the fields of one record, as a value that can be printed, sent, compiled to SQL and evaluated.
///
/// It is true or false, never unknown. Comparing with null is equality: `field == null` finds records without a value,
/// `!=` those with one. An order comparison with null is false, and `not` turns false into true. Text is compared by
/// its UTF-8 bytes; `contains` and `beginsWith` ignore the case of ASCII letters only on request.
public indirect enum Condition: Sendable, Hashable {
  /// True of every record: a query with no condition.
  case all
  /// True of no record.
  case none
  /// The field compared with one value. Orders (`.less` and the like) apply only to kinds that have one.
  case compare(field: String, Comparison, FieldValue)
  /// The field equals one of the values.
  case oneOf(field: String, [FieldValue])
  /// The field's text contains the other text. Reads every row that the rest of the condition leaves.
  case contains(field: String, String, ignoringCase: Bool)
  /// The field's text starts with the other. Uses the field's index unless case is ignored.
  case beginsWith(field: String, String, ignoringCase: Bool)
  /// The list of references, or list in JSON, contains the id.
  case includes(field: String, String)
  /// The coordinate is at most `metres` from `centre` on the great circle.
  case near(field: String, centre: Coordinate, metres: Double)
  /// The coordinate is in the box. A `west` greater than `east` crosses the antimeridian.
  case inside(field: String, GeoBox)
  /// The type's full-text index matches: every word, the last one as a prefix.
  case matches(String)
  /// True if all of the parts are. True without parts.
  case and([Condition])
  /// True if at least one of the parts is. False without parts.
  case or([Condition])
  /// The negation of the part.
  case not(Condition)

  /// A comparison of two values. The raw value is the sign, in SQL and in conditions as text.
  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    /// Equal values, or null on both sides.
    case equal = "="
    /// Different values, or null on one side only.
    case notEqual = "!="
    /// Before the value: numbers and dates by size, text by its UTF-8 bytes, false before true.
    case less = "<"
    /// Before the value, or equal.
    case lessOrEqual = "<="
    /// After the value.
    case greater = ">"
    /// After the value, or equal.
    case greaterOrEqual = ">="
  }
}

/// One key of a sort: a field, a pseudo-field (`id`, `container`, `version`), or the distance of a coordinate.
///
/// Null sorts before every value. A record without a coordinate is infinitely far away and sorts after all that have
/// one. Ties are broken by id, so every order is total.
public struct SortKey: Sendable, Hashable {
  /// The name in the schema, or `id`, `container`, `version`.
  public var field: String
  /// True to sort the smallest, or the nearest, first.
  public var ascending: Bool
  /// The place from which distances are measured, or nil to sort by the field's value.
  public var origin: Coordinate?

  /// Creates a key by the field's value. A query that sorts by data, coordinates, JSON or lists throws `BothyError`
  /// `.invalidQuery`.
  public init(_ field: String, ascending: Bool = true) {
    self.field = field
    self.ascending = ascending
  }

  /// Creates a key by the distance of the field's coordinate from `origin` on the great circle.
  public init(_ field: String, distanceFrom origin: Coordinate, ascending: Bool = true) {
    self.field = field
    self.ascending = ascending
    self.origin = origin
  }
}
