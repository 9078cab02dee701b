/// One key of a sort: a field, a pseudo-field (`id`, `container`, `version`), or the distance of a coordinate.
///
/// ```swift
/// let latest = Todo.all.order { $0.due.descending }.order { $0.title.ascending }
/// ```
///
/// Null sorts before every value. A record without a coordinate is infinitely far away and sorts after all that have
/// one. Ties are broken by id, so every order is total.
public struct SortKey: Sendable, Hashable {
  /// The name in the schema, or `id`, `container`, `version`.
  package var field: String
  /// True to sort the smallest, or the nearest, first.
  package var ascending: Bool
  /// The place from which distances are measured, or nil to sort by the field's value.
  package var origin: Coordinate?
  /// True to sort texts as people expect, by `NaturalOrder`: without case and accents, and numbers by their value.
  package var isNatural = false
  /// The search of the query if the key is its relevance, known once the query is checked.
  package var search: FieldSearch?

  /// True if no two records are equal by the key.
  var isTotal: Bool { field == "id" && origin == nil && !isNatural }

  /// The name in the place of a field's that sorts by relevance. No field has it.
  package static let rank = "_rank"

  /// True if the key sorts by the relevance of the records for the query's first search.
  package var isRank: Bool { field == Self.rank }

  /// Creates a key by the field's value. A query that sorts by data, coordinates, JSON or lists throws `BothyError`
  /// `invalidQuery`, and so does a natural order of what isn't text.
  package init(_ field: String, ascending: Bool = true, natural isNatural: Bool = false) {
    self.field = field
    self.ascending = ascending
    self.isNatural = isNatural
  }

  /// Creates a key by the distance of the field's coordinate from `origin` on the great circle.
  package init(_ field: String, distanceFrom origin: Coordinate, ascending: Bool = true) {
    self.field = field
    self.ascending = ascending
    self.origin = origin
  }
}
