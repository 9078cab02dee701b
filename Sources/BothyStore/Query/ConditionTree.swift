/// The parts of a condition, as a value that can be printed, sent, compiled to SQL and evaluated.
///
/// It is true or false, never unknown. Comparing with null is equality: `field == null` finds records without a value,
/// `!=` those with one. An order comparison with null is false, and `not` turns false into true. Text is compared by
/// its UTF-8 bytes; `contains` and `beginsWith` ignore the case of ASCII letters only on request.
package indirect enum ConditionTree: Sendable, Hashable {
  /// True of every record: a query with no condition.
  case all
  /// True of no record.
  case none
  /// The field compared with one value. Orders (`.less` and the like) apply only to kinds that have one.
  case compare(field: String, Comparison, FieldValue)
  /// The field compared with another field of the record and of its kind. Uses no index.
  case compareFields(String, Comparison, String)
  /// The field's text compared with another by their natural order (see `NaturalOrder`), in which texts that differ by
  /// case and accents are equal. Uses the index of a field with stored sort keys.
  case compareNaturally(field: String, Comparison, String)
  /// The field equals one of the values. At most 10,000 values. Null among them finds records without a value.
  case oneOf(field: String, [FieldValue])
  /// The field's text contains the other text. Reads every row that the rest of the condition leaves. True of empty
  /// text if the field has a value.
  case contains(field: String, String, ignoringCase: Bool)
  /// The field's text starts with the other. Uses the field's index unless case is ignored.
  case beginsWith(field: String, String, ignoringCase: Bool)
  /// The list of references, or list in JSON, contains the element: an id, a text, a number, true, false or null.
  /// Numbers are compared exactly, whole ones with others too.
  case includes(field: String, FieldValue)
  /// The coordinate is at most `metres` from `centre` on the great circle. Uses the R-tree of an indexed field, unless
  /// negated.
  case near(field: String, centre: Coordinate, metres: Double)
  /// The coordinate is in the box. A `west` greater than `east` crosses the antimeridian. Uses the R-tree of an indexed
  /// field, unless negated. The edges belong to the box.
  case inside(field: String, GeoBox)
  /// The full-text fields, or those with these names, have every word; the last one, and one with a `*` after it, as
  /// the start of a word. Text without words matches every record. The relevance of the record is at least a number.
  case matches(String, in: [String] = [], atLeast: Int = 0)
  /// True if all of the parts are. True without parts.
  case and([ConditionTree])
  /// True if at least one of the parts is. False without parts.
  case or([ConditionTree])
  /// The negation of the part.
  case not(ConditionTree)
  /// The field compared with a value that is known when the condition is decided. `to` is one of `OpenValue`. Allowed
  /// in permissions only.
  case relates(field: String, Relation, to: String)
  /// A live record of the type meets the condition. Allowed in permissions only.
  case exists(type: String, ConditionTree)

  /// A comparison of two values. The raw value is the sign, in SQL and in conditions as text.
  package enum Comparison: String, Sendable, Hashable, CaseIterable {
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

extension ConditionTree {
  /// Returns a condition that is true if both conditions are. Several are joined in one flat list, so that long chains
  /// stay shallow.
  package static func && (left: ConditionTree, right: ConditionTree) -> ConditionTree {
    switch (left, right) {
    case (.all, let other), (let other, .all): other
    default: .and(left.conjuncts + right.conjuncts)
    }
  }

  /// Returns a condition that is true if at least one of the conditions is. Several are joined in one flat list, so
  /// that long chains stay shallow.
  package static func || (left: ConditionTree, right: ConditionTree) -> ConditionTree {
    switch (left, right) {
    case (.none, let other), (let other, .none): other
    default: .or(left.disjuncts + right.disjuncts)
    }
  }

  private var conjuncts: [ConditionTree] {
    if case .and(let parts) = self { parts } else { [self] }
  }

  private var disjuncts: [ConditionTree] {
    if case .or(let parts) = self { parts } else { [self] }
  }

  /// Returns the negation of the condition. An order comparison with a missing value is false, so its negation is true.
  package static prefix func ! (condition: ConditionTree) -> ConditionTree { .not(condition) }
}
