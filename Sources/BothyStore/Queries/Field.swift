/// The name of a field with its Swift type, for conditions that the compiler checks: `Field<Bool>("done")`.
///
/// `@Entity` generates one for each property; a hand-written entity may declare them or use `UntypedFields`.
public struct Field<Value: FieldConvertible>: FieldExpression {
  /// The name in the schema.
  public let name: String

  /// Creates a field without a check. A query by a name that the schema lacks throws `BothyError` `.unknownField`.
  public init(_ name: String) { self.name = name }
}

/// The fields of an entity that declares none. Any name is accepted, and checked when the query runs.
@dynamicMemberLookup
public struct UntypedFields: Sendable {
  /// Creates the fields of any type.
  public init() {}

  /// The field called `name`, or a pseudo-field (see ``FieldExpression/name``): `$0.title`.
  public subscript(dynamicMember name: String) -> UntypedField { UntypedField(name) }
}

/// The name of a field whose Swift type isn't known. Names and values are checked when the query runs, which throws
/// `BothyError` `.unknownField` or `.invalidQuery`.
public struct UntypedField: FieldExpression, TextExpression, CoordinateExpression {
  /// The name in the schema, or a pseudo-field (see ``FieldExpression/name``).
  public let name: String

  /// Creates a field from a name that is known only at run time: `UntypedField(name) == "x"`.
  public init(_ name: String) { self.name = name }
}

/// An expression for a field in a condition.
public protocol FieldExpression: Sendable {
  /// The name in the schema, or one of the pseudo-fields `id`, `container`, `version`, `created`, `modified` and
  /// `owner`. A field hides the pseudo-field of its name.
  var name: String { get }
}

/// A field that holds text.
public protocol TextExpression: FieldExpression {}

/// A field that holds a coordinate.
public protocol CoordinateExpression: FieldExpression {}

extension Field: TextExpression where Value: TextFieldValue {}
extension Field: CoordinateExpression where Value: CoordinateFieldValue {}

/// `String` and `String?`.
public protocol TextFieldValue: FieldConvertible {}

/// `Coordinate` and `Coordinate?`.
public protocol CoordinateFieldValue: FieldConvertible {}

extension String: TextFieldValue {}
extension Coordinate: CoordinateFieldValue {}
extension Optional: TextFieldValue where Wrapped: TextFieldValue {}
extension Optional: CoordinateFieldValue where Wrapped: CoordinateFieldValue {}
