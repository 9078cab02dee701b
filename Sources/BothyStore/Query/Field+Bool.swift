/// A Boolean field is a condition: `!$0.done && $0.due < now`.
extension Field where Value == Bool {
  /// The field is true.
  var isTrue: Condition { self == true }

  /// The field is false. It isn't optional. An optional one is compared, as in `$0.seen != true`.
  public static prefix func ! (field: Field) -> Condition { field == false }
  /// Both fields are true.
  public static func && (left: Field, right: Field) -> Condition { left.isTrue && right.isTrue }
  /// At least one of the fields is true.
  public static func || (left: Field, right: Field) -> Condition { left.isTrue || right.isTrue }
}

extension Condition {
  /// The field is true, and the condition holds.
  public static func && (left: Field<Bool>, right: Condition) -> Condition { left.isTrue && right }
  /// The condition holds, and the field is true.
  public static func && (left: Condition, right: Field<Bool>) -> Condition { left && right.isTrue }
  /// The field is true, or the condition holds.
  public static func || (left: Field<Bool>, right: Condition) -> Condition { left.isTrue || right }
  /// The condition holds, or the field is true.
  public static func || (left: Condition, right: Field<Bool>) -> Condition { left || right.isTrue }
}

extension Field {
  /// The reference points at the record.
  ///
  /// Compares ids, so edits of `target` don't matter, and it need not be stored. References always have an index, which
  /// finds the records.
  ///
  /// ```swift
  /// let open = try await store.fetch(Todo.where { $0.list == todoList && !$0.done })
  /// ```
  public static func == <T: Entity>(field: Field, target: T) -> Condition
  where Value.Unwrapped == Reference<T> {
    Condition(.compare(field: field.fieldName, .equal, Reference(target).fieldValue))
  }
}

extension Sequence where Element: FieldConvertible {
  /// The field holds one of these values: `["a", "b"].contains($0.title)`.
  ///
  /// An empty sequence matches no record. Up to 10,000 values; more throw `BothyError` `invalidQuery` at the fetch. An
  /// index of the field costs one look-up a value.
  public func contains(_ field: Field<Element>) -> Condition { field.isIn(self) }
  /// The field has a value, and it is one of these. Limits and costs are those of a field that isn't optional.
  public func contains(_ field: Field<Element?>) -> Condition { field.isIn(map(Optional.some)) }
}

extension ClosedRange where Bound: FieldConvertible {
  /// The field holds a value in the range: `(1...5).contains($0.priority)`. Both bounds belong to it. An index of the
  /// field serves the range.
  public func contains(_ field: Field<Bound>) -> Condition { field >= lowerBound && field <= upperBound }
  /// The field has a value in the range: `(monday...sunday).contains($0.due)`. Both bounds belong to it. An index of
  /// the field serves the range.
  public func contains(_ field: Field<Bound?>) -> Condition { field >= lowerBound && field <= upperBound }
}
