/// A condition on the fields of one record, as a value that can be printed, sent, compiled to SQL and
/// evaluated.
///
/// It is true or false, never unknown: comparing with null is equality (`field == null` finds records without
/// a value, `!=` those with one), an order comparison with null is false, and `not` turns false into true.
/// Text is compared by its UTF-8 bytes; `contains` and `beginsWith` ignore the case of ASCII letters only when
/// asked.
public indirect enum Predicate: Sendable, Hashable {
  case all
  case none
  case compare(field: String, Comparison, FieldValue)
  /// The field equals one of the values.
  case oneOf(field: String, [FieldValue])
  case contains(field: String, String, ignoringCase: Bool)
  case beginsWith(field: String, String, ignoringCase: Bool)
  /// The list of references, or list in JSON, holds the id.
  case includes(field: String, String)
  /// The coordinate lies at most `metres` from `centre` on the great circle.
  case near(field: String, centre: Coordinate, metres: Double)
  /// The coordinate lies in the box; `west` greater than `east` crosses the antimeridian.
  case inside(field: String, GeoBox)
  /// The type's full-text index matches: every word, the last one as a prefix.
  case matches(String)
  case and([Predicate])
  case or([Predicate])
  case not(Predicate)

  public enum Comparison: String, Sendable, Hashable, CaseIterable {
    case equal = "="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
  }
}

/// One key of a sort: a field, a pseudo-field `id`, `container`, `version`, or the distance of a coordinate.
///
/// Null sorts before every value, and a record without a coordinate after all that have one: it is infinitely far
/// away. Ties are broken by id, so every order is total.
public struct Ordering: Sendable, Hashable {
  public var field: String
  /// Smallest, or nearest, first.
  public var ascending: Bool
  /// Where distances are measured from; nil to sort by the field's value.
  public var origin: Coordinate?

  public init(_ field: String, ascending: Bool = true) {
    self.field = field
    self.ascending = ascending
  }

  /// By the distance of the field's coordinate from `origin` on the great circle.
  public init(_ field: String, distanceFrom origin: Coordinate, ascending: Bool = true) {
    self.field = field
    self.ascending = ascending
    self.origin = origin
  }
}
