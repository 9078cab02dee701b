/// Conditions and sort keys written as Swift expressions: `$0.done == false && $0.due < date`.
///
/// Nothing is read here: each is a `Condition` or a `SortKey` value.
extension FieldExpression {
  /// The field has no value.
  public var isNull: Condition { .compare(field: name, .equal, .null) }

  /// The field has a value.
  public var isNotNull: Condition { .compare(field: name, .notEqual, .null) }

  /// The list of references, or the JSON list, holds `id`.
  public func includes(_ id: String) -> Condition { .includes(field: name, id) }

  /// The list of references holds `reference`.
  public func includes(_ reference: some AnyReference) -> Condition { .includes(field: name, reference.id) }

  /// Smallest first; null before every value.
  public var ascending: SortKey { SortKey(name) }

  /// Largest first; null after every value.
  public var descending: SortKey { SortKey(name, ascending: false) }
}

extension TextExpression {
  /// `ignoringCase` folds the ASCII letters only.
  public func contains(_ text: String, ignoringCase: Bool = false) -> Condition {
    .contains(field: name, text, ignoringCase: ignoringCase)
  }

  /// `ignoringCase` folds the ASCII letters only. Uses the field's index when it does not.
  public func hasPrefix(_ text: String, ignoringCase: Bool = false) -> Condition {
    .beginsWith(field: name, text, ignoringCase: ignoringCase)
  }
}

extension CoordinateExpression {
  /// At most so many metres from `centre` on the great circle; false without a coordinate. An indexed field is looked
  /// up in its R-tree.
  public func within(metres: Double, of centre: Coordinate) -> Condition {
    .near(field: name, centre: centre, metres: metres)
  }

  /// In the box, its edges included; one whose west is greater than its east lies across the antimeridian. False
  /// without a coordinate. An indexed field is looked up in its R-tree.
  public func isIn(_ box: GeoBox) -> Condition { .inside(field: name, box) }

  /// By the distance from `place` on the great circle, smallest first; records without a coordinate come last. With a
  /// limit on an indexed field only what is near is read.
  public func nearest(to place: Coordinate) -> SortKey { SortKey(name, distanceFrom: place) }

  /// By the distance from `place` on the great circle, largest first; records without a coordinate come first.
  public func farthest(from place: Coordinate) -> SortKey {
    SortKey(name, distanceFrom: place, ascending: false)
  }
}

extension Field {
  /// The field equals one of the values; nil among them finds records without one. Never true of no values.
  public func isIn(_ values: some Sequence<Value>) -> Condition {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  /// The field holds `value`; compared with nil, it has none. Texts are equal when their UTF-8 bytes are.
  public static func == (field: Field, value: Value) -> Condition { field.compared(.equal, value) }
  /// The field holds anything but `value`, or nothing; compared with nil, it has a value.
  public static func != (field: Field, value: Value) -> Condition { field.compared(.notEqual, value) }
  /// The field has a value that sorts before `value`: text by its UTF-8 bytes, false before true.
  public static func < (field: Field, value: Value) -> Condition { field.compared(.less, value) }
  /// The field has a value that equals `value` or sorts before it.
  public static func <= (field: Field, value: Value) -> Condition { field.compared(.lessOrEqual, value) }
  /// The field has a value that sorts after `value`: text by its UTF-8 bytes, true after false.
  public static func > (field: Field, value: Value) -> Condition { field.compared(.greater, value) }
  /// The field has a value that equals `value` or sorts after it.
  public static func >= (field: Field, value: Value) -> Condition { field.compared(.greaterOrEqual, value) }

  private func compared(_ comparison: Condition.Comparison, _ value: Value) -> Condition {
    .compare(field: name, comparison, value.fieldValue)
  }
}

extension UntypedField {
  /// The field equals one of the values. Never true of no values.
  public func isIn<Value: FieldConvertible>(_ values: [Value]) -> Condition {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  /// The field equals one of the values; `.null` among them finds records without one. Never true of no values.
  public func isIn(_ values: [FieldValue]) -> Condition { .oneOf(field: name, values) }

  /// The field holds `value`. Texts are equal when their UTF-8 bytes are.
  public static func == (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.equal, value.fieldValue)
  }

  /// The field holds anything but `value`, or nothing.
  public static func != (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.notEqual, value.fieldValue)
  }

  /// The field has a value that sorts before `value`. Asked of a kind without an order (data, coordinates, JSON,
  /// lists), the query throws `StoreError` `.invalidQuery`.
  public static func < (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.less, value.fieldValue)
  }

  /// The field has a value that equals `value` or sorts before it; of the kinds that have an order.
  public static func <= (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.lessOrEqual, value.fieldValue)
  }

  /// The field has a value that sorts after `value`; of the kinds that have an order.
  public static func > (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.greater, value.fieldValue)
  }

  /// The field has a value that equals `value` or sorts after it; of the kinds that have an order.
  public static func >= (field: UntypedField, value: some FieldConvertible) -> Condition {
    field.compared(.greaterOrEqual, value.fieldValue)
  }

  /// The field holds `value`; `== .null` finds records without one.
  public static func == (field: UntypedField, value: FieldValue) -> Condition {
    field.compared(.equal, value)
  }
  /// The field holds anything but `value`, or nothing; `!= .null` finds records that have a value.
  public static func != (field: UntypedField, value: FieldValue) -> Condition {
    field.compared(.notEqual, value)
  }

  private func compared(_ comparison: Condition.Comparison, _ value: FieldValue) -> Condition {
    .compare(field: name, comparison, value)
  }
}

extension Condition {
  /// Both conditions hold. Makes one flat list of several, so that long chains stay shallow.
  public static func && (left: Condition, right: Condition) -> Condition {
    switch (left, right) {
    case (.all, let other), (let other, .all): other
    case (.and(let some), .and(let more)): .and(some + more)
    case (.and(let some), let one): .and(some + [one])
    case (let one, .and(let some)): .and([one] + some)
    default: .and([left, right])
    }
  }

  /// At least one of the conditions holds. Makes one flat list of several, so that long chains stay shallow.
  public static func || (left: Condition, right: Condition) -> Condition {
    switch (left, right) {
    case (.none, let other), (let other, .none): other
    case (.or(let some), .or(let more)): .or(some + more)
    case (.or(let some), let one): .or(some + [one])
    case (let one, .or(let some)): .or([one] + some)
    default: .or([left, right])
    }
  }

  /// The condition does not hold. What compares a missing value by order is false, so its negation is true.
  public static prefix func ! (predicate: Condition) -> Condition { .not(predicate) }
}
