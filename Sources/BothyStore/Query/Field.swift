/// The name of a field with its Swift type, for conditions that the compiler checks: `Field<Bool>("done")`.
///
/// `@Entity` generates one for each property. A hand-written entity may declare them, or name them in its queries.
///
/// ```swift
/// let created = Field<Date?>("created")
/// let newest = Todo.all.order { _ in created.descending }.limit(20)
/// ```
public struct Field<Value: FieldConvertible>: Sendable {
  /// The name in the schema, or one of the pseudo-fields `id`, `container`, `version`, `created`, `modified` and
  /// `owner`. A field hides the pseudo-field of its name.
  package let fieldName: String

  /// Creates a field without a check. A query by a name that the schema lacks throws `BothyError`, with the known names
  /// in its message.
  ///
  /// A value of another kind than the field's throws `invalidQuery` at the fetch. Whole numbers fit fields of numbers.
  public init(_ name: String) { fieldName = name }
}

/// The fields of an entity that declares none. Any name is accepted, and checked when the query runs.
///
/// A field has the type of the value that it is compared with: `$0.count > 3`. Beside no value, write the type:
/// `Field<Date>("due").descending`.
@dynamicMemberLookup
public struct UntypedFields: Sendable {
  /// Creates the fields of any type.
  package init() {}

  /// The field called `name`, or a pseudo-field such as `created`.
  ///
  /// No name is checked here. A query with an unknown name throws `BothyError` `unknownField` at the fetch, with the
  /// known names.
  public subscript<Value: FieldConvertible>(dynamicMember name: String) -> Field<Value> { Field(name) }
}
