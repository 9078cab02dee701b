/// Conditions and sort keys written as Swift expressions: `$0.done == false && $0.due < date`.
///
/// Each creates a `Condition` or a `SortKey` value and reads nothing.
extension FieldExpression {
  /// A condition that is true if the field has no value.
  package var isNull: Condition { .compare(field: name, .equal, .null) }

  /// A condition that is true if the field has a value.
  package var isNotNull: Condition { .compare(field: name, .notEqual, .null) }

  /// Returns a condition that is true if the list of references, or the JSON list, contains `id`.
  public func includes(_ id: String) -> Condition { .includes(field: name, id) }

  /// Returns a condition that is true if the list of references contains `reference`.
  public func includes(_ reference: some AnyReference) -> Condition { .includes(field: name, reference.id) }

  /// A sort key with the smallest value first, and null before every value.
  public var ascending: SortKey { SortKey(name) }

  /// A sort key with the largest value first, and null after every value.
  public var descending: SortKey { SortKey(name, ascending: false) }
}

extension TextExpression {
  /// Returns a condition on text in the field. `ignoringCase` folds only the ASCII letters.
  public func contains(_ text: String, ignoringCase: Bool = false) -> Condition {
    .contains(field: name, text, ignoringCase: ignoringCase)
  }

  /// Returns a condition on the start of the field. `ignoringCase` folds only the ASCII letters. Uses the field's index
  /// unless the case is ignored.
  public func hasPrefix(_ text: String, ignoringCase: Bool = false) -> Condition {
    .beginsWith(field: name, text, ignoringCase: ignoringCase)
  }
}

extension CoordinateExpression {
  /// Returns a condition that is true at most `metres` from `centre` on the great circle, and false without a
  /// coordinate. Looks an indexed field up in its R-tree.
  public func isWithin(metres: Double, of centre: Coordinate) -> Condition {
    .near(field: name, centre: centre, metres: metres)
  }

  /// Returns a condition that is true in the box and on its edges, and false without a coordinate. A box whose west is
  /// greater than its east crosses the antimeridian. Looks an indexed field up in its R-tree.
  public func isIn(_ box: GeoBox) -> Condition { .inside(field: name, box) }

  /// Returns a sort key by the distance from `place` on the great circle, smallest first. Records without a coordinate
  /// are last. With a limit, an indexed field reads only the nearby records.
  public func nearest(to place: Coordinate) -> SortKey { SortKey(name, distanceFrom: place) }

  /// Returns a sort key by the distance from `place` on the great circle, largest first. Records without a coordinate
  /// are first.
  public func farthest(from place: Coordinate) -> SortKey {
    SortKey(name, distanceFrom: place, ascending: false)
  }
}

extension Field {
  /// Returns a condition that is true if the field equals one of the values. Nil among them finds records without a
  /// value. Never true of an empty list.
  public func isIn(_ values: some Sequence<Value>) -> Condition {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  /// Returns a condition that is true if the field equals `value`; compared with nil, if it has no value. Texts are
  /// equal if their UTF-8 bytes are.
  public static func == (field: Field, value: Value) -> Condition { field.compared(.equal, value) }
  /// Returns a condition that is true if the field differs from `value` or has no value; compared with nil, if it has a
  /// value.
  public static func != (field: Field, value: Value) -> Condition { field.compared(.notEqual, value) }
  /// Returns a condition that is true if the field sorts before `value`: text by its UTF-8 bytes, false before true.
  /// False without a value.
  public static func < (field: Field, value: Value) -> Condition { field.compared(.less, value) }
  /// Returns a condition that is true if the field equals `value` or sorts before it. False without a value.
  public static func <= (field: Field, value: Value) -> Condition { field.compared(.lessOrEqual, value) }
  /// Returns a condition that is true if the field sorts after `value`: text by its UTF-8 bytes, true after false.
  /// False without a value.
  public static func > (field: Field, value: Value) -> Condition { field.compared(.greater, value) }
  /// Returns a condition that is true if the field equals `value` or sorts after it. False without a value.
  public static func >= (field: Field, value: Value) -> Condition { field.compared(.greaterOrEqual, value) }

  private func compared(_ comparison: Condition.Comparison, _ value: Value) -> Condition {
    .compare(field: name, comparison, value.fieldValue)
  }
}

extension UntypedField {
  /// Returns a condition that is true if the field equals one of the values. Never true of an empty list.
  public func isIn<Value: FieldConvertible>(_ values: [Value]) -> Condition {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  /// Returns a condition that is true if the field equals one of the values. `.null` among them finds records without a
  /// value. Never true of an empty list.
  public func isIn(_ values: [FieldValue]) -> Condition { .oneOf(field: name, values) }

  /// Returns a condition that is true if the field equals `value`. Texts are equal if their UTF-8 bytes are.
  public static func == (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.equal, value.fieldValue)
  }

  /// Returns a condition that is true if the field differs from `value` or has no value.
  public static func != (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.notEqual, value.fieldValue)
  }

  /// Returns a condition that is true if the field sorts before `value`. For a kind without an order (data,
  /// coordinates, JSON, lists), the query throws `BothyError` `.invalidQuery`.
  public static func < (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.less, value.fieldValue)
  }

  /// Returns a condition that is true if the field equals `value` or sorts before it. For kinds with an order.
  public static func <= (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.lessOrEqual, value.fieldValue)
  }

  /// Returns a condition that is true if the field sorts after `value`. For kinds with an order.
  public static func > (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.greater, value.fieldValue)
  }

  /// Returns a condition that is true if the field equals `value` or sorts after it. For kinds with an order.
  public static func >= (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.greaterOrEqual, value.fieldValue)
  }

  /// Returns a condition that is true if the field equals `value`. `== .null` finds records without a value.
  public static func == (field: UntypedField, value: FieldValue) -> Condition {
    field.compared(.equal, value)
  }
  /// Returns a condition that is true if the field differs from `value` or has no value. `!= .null` finds records with
  /// a value.
  public static func != (field: UntypedField, value: FieldValue) -> Condition {
    field.compared(.notEqual, value)
  }

  private func compared(_ comparison: Condition.Comparison, _ value: FieldValue) -> Condition {
    .compare(field: name, comparison, value)
  }
}

extension Condition {
  /// Returns a condition that is true if both conditions are. Several are joined in one flat list, so that long chains
  /// stay shallow.
  public static func && (left: Condition, right: Condition) -> Condition {
    switch (left, right) {
    case (.all, let other), (let other, .all): other
    case (.and(let some), .and(let more)): .and(some + more)
    case (.and(let some), let one): .and(some + [one])
    case (let one, .and(let some)): .and([one] + some)
    default: .and([left, right])
    }
  }

  /// Returns a condition that is true if at least one of the conditions is. Several are joined in one flat list, so
  /// that long chains stay shallow.
  public static func || (left: Condition, right: Condition) -> Condition {
    switch (left, right) {
    case (.none, let other), (let other, .none): other
    case (.or(let some), .or(let more)): .or(some + more)
    case (.or(let some), let one): .or(some + [one])
    case (let one, .or(let some)): .or([one] + some)
    default: .or([left, right])
    }
  }

  /// Returns the negation of the condition. An order comparison with a missing value is false, so its negation is true.
  public static prefix func ! (predicate: Condition) -> Condition { .not(predicate) }
}
