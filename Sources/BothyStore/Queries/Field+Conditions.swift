/// Conditions and sort keys written as Swift expressions: `$0.done == false && $0.due < date`.
///
/// Nothing is read here: each is a `Predicate` or an `Ordering` value.
extension FieldExpression {
  /// The field has no value.
  public var isNull: Predicate { .compare(field: name, .equal, .null) }

  public var isNotNull: Predicate { .compare(field: name, .notEqual, .null) }

  /// The list of references, or the JSON list, holds `id`.
  public func includes(_ id: String) -> Predicate { .includes(field: name, id) }

  /// The list of references holds `reference`.
  public func includes(_ reference: some AnyReference) -> Predicate { .includes(field: name, reference.id) }

  /// Smallest first; null before every value.
  public var ascending: Ordering { Ordering(name) }

  /// Largest first; null after every value.
  public var descending: Ordering { Ordering(name, ascending: false) }
}

extension TextExpression {
  /// `ignoringCase` folds the ASCII letters only.
  public func contains(_ text: String, ignoringCase: Bool = false) -> Predicate {
    .contains(field: name, text, ignoringCase: ignoringCase)
  }

  /// `ignoringCase` folds the ASCII letters only. Uses the field's index when it does not.
  public func hasPrefix(_ text: String, ignoringCase: Bool = false) -> Predicate {
    .beginsWith(field: name, text, ignoringCase: ignoringCase)
  }
}

extension CoordinateExpression {
  /// At most so many metres from `centre` on the great circle; false without a coordinate. An indexed field is looked
  /// up in its R-tree.
  public func within(metres: Double, of centre: Coordinate) -> Predicate {
    .near(field: name, centre: centre, metres: metres)
  }

  /// In the box, its edges included; one whose west is greater than its east lies across the antimeridian. False
  /// without a coordinate. An indexed field is looked up in its R-tree.
  public func isIn(_ box: GeoBox) -> Predicate { .inside(field: name, box) }

  /// By the distance from `place` on the great circle, smallest first; records without a coordinate come last. With a
  /// limit on an indexed field only what is near is read.
  public func nearest(to place: Coordinate) -> Ordering { Ordering(name, distanceFrom: place) }

  /// By the distance from `place` on the great circle, largest first; records without a coordinate come first.
  public func farthest(from place: Coordinate) -> Ordering {
    Ordering(name, distanceFrom: place, ascending: false)
  }
}

extension Field {
  public func isIn(_ values: some Sequence<Value>) -> Predicate {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  public static func == (field: Field, value: Value) -> Predicate { field.compared(.equal, value) }
  public static func != (field: Field, value: Value) -> Predicate { field.compared(.notEqual, value) }
  public static func < (field: Field, value: Value) -> Predicate { field.compared(.less, value) }
  public static func <= (field: Field, value: Value) -> Predicate { field.compared(.lessOrEqual, value) }
  public static func > (field: Field, value: Value) -> Predicate { field.compared(.greater, value) }
  public static func >= (field: Field, value: Value) -> Predicate { field.compared(.greaterOrEqual, value) }

  private func compared(_ comparison: Predicate.Comparison, _ value: Value) -> Predicate {
    .compare(field: name, comparison, value.fieldValue)
  }
}

extension UntypedField {
  public func isIn<Value: FieldConvertible>(_ values: [Value]) -> Predicate {
    .oneOf(field: name, values.map(\.fieldValue))
  }

  public func isIn(_ values: [FieldValue]) -> Predicate { .oneOf(field: name, values) }

  public static func == (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.equal, value.fieldValue)
  }

  public static func != (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.notEqual, value.fieldValue)
  }

  public static func < (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.less, value.fieldValue)
  }

  public static func <= (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.lessOrEqual, value.fieldValue)
  }

  public static func > (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.greater, value.fieldValue)
  }

  public static func >= (field: UntypedField, value: some FieldConvertible) -> Predicate {
    field.compared(.greaterOrEqual, value.fieldValue)
  }

  public static func == (field: UntypedField, value: FieldValue) -> Predicate {
    field.compared(.equal, value)
  }
  public static func != (field: UntypedField, value: FieldValue) -> Predicate {
    field.compared(.notEqual, value)
  }

  private func compared(_ comparison: Predicate.Comparison, _ value: FieldValue) -> Predicate {
    .compare(field: name, comparison, value)
  }
}

extension Predicate {
  public static func && (left: Predicate, right: Predicate) -> Predicate {
    switch (left, right) {
    case (.all, let other), (let other, .all): other
    case (.and(let some), .and(let more)): .and(some + more)
    case (.and(let some), let one): .and(some + [one])
    case (let one, .and(let some)): .and([one] + some)
    default: .and([left, right])
    }
  }

  public static func || (left: Predicate, right: Predicate) -> Predicate {
    switch (left, right) {
    case (.none, let other), (let other, .none): other
    case (.or(let some), .or(let more)): .or(some + more)
    case (.or(let some), let one): .or(some + [one])
    case (let one, .or(let some)): .or([one] + some)
    default: .or([left, right])
    }
  }

  public static prefix func ! (predicate: Predicate) -> Predicate { .not(predicate) }
}
