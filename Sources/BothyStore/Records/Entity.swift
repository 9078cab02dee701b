/// A Swift struct whose values are the records of one type.
///
/// `@Entity` (in `Bothy`) writes the conformance. By hand it consists of these members:
///
/// ```swift
/// struct Todo: Entity {
///   static let schema = TypeSchema("Todo", fields: [.field("title", String.self), .field("done", Bool.self)])
///   var id = UUIDv7.make()
///   var title: String
///   var done = false
///   var readMark = ReadMark()
///
///   func encode(to fields: inout FieldEncoder) {
///     title.encodeField(to: &fields)
///     done.encodeField(to: &fields)
///   }
///
///   init(id: String, from fields: inout FieldDecoder) throws(BothyError) {
///     self.id = id
///     title = try String(fromField: &fields)
///     done = try Bool(fromField: &fields)
///     readMark = fields.readMark
///   }
/// }
/// ```
///
/// `encode` and `init` must visit the fields in the order of `schema.fields`. The `id` is unique within the type and
/// constant. Any text is valid; `UUIDv7.make()` creates one.
///
/// For queries that the compiler checks, add `struct Fields: Sendable { let done = Field<Bool>("done") }` and
/// `static let fields = Fields()`, as the macro does. Without them a query names fields by `UntypedFields`.
public protocol Entity: Sendable, Identifiable where ID == String {
  /// The type of `$0` in `RecordQuery.where { $0.done == false }`.
  associatedtype Fields: Sendable = UntypedFields
  /// The fields for conditions, passed to the closure of `RecordQuery.where`.
  static var fields: Fields { get }
  /// The type's name in the schema, on the wire and on the server. Default: the Swift type's name.
  static var typeName: String { get }
  /// The declaration of the type; its name is `typeName`.
  static var schema: TypeSchema { get }
  /// The state in which the value was read, so that a save changes only the fields that the caller changed.
  ///
  /// Without the property each save of a value writes all of its fields.
  var readMark: ReadMark { get }
  /// Writes the fields, one call each, in the order of `schema.fields`. Runs once for each write of the value.
  func encode(to fields: inout FieldEncoder)
  /// Reads the fields in the order of `schema.fields`. Runs once for each row that is read. Throws `BothyError`
  /// `.invalidValue` if a value doesn't fit the property.
  init(id: String, from fields: inout FieldDecoder) throws(BothyError)
}

extension Entity {
  /// The name of the Swift type. A file knows its records by this name, so a renamed struct needs a migration or a name
  /// of its own.
  public static var typeName: String { String(describing: Self.self) }
  /// The mark of a value of which a save writes every field. So a save overwrites changes that others made since the
  /// value was read. Declare the property to keep those.
  public var readMark: ReadMark { .whole }
}

extension Entity where Fields == UntypedFields {
  /// The untyped fields: any name, checked when the query runs. A query with an unknown name throws `BothyError`
  /// `unknownField`, with the known names.
  public static var fields: UntypedFields { UntypedFields() }
}

extension FieldSchema {
  /// Returns a field with the kind and the optionality of the Swift type `Value`.
  ///
  /// Content that `Value` doesn't take, such as a case of a newer app, shows the default, or nothing in an optional
  /// field. Without either it shows 0, false or empty text if `Value` takes that. Else fetches leave the record out.
  ///
  /// ```swift
  /// let fields: [FieldSchema] = [
  ///   .field("email", String.self, unique: true), .field("list", Reference<TodoList>.self, onDelete: .cascade),
  /// ]
  /// ```
  ///
  /// - Parameters:
  ///   - defaultValue: The value of new records without one, and of old records when the field is new.
  ///   - indexed: True for a B-tree, or an R-tree of a coordinate. References have an index anyway.
  ///   - unique: True to refuse a second record with the same value.
  ///   - fullText: True to add the words of a string to the type's full-text index.
  ///   - natural: True to store the natural sort keys of a string, with an index for `order(by:_:natural:)`.
  ///   - merge: The rule for edits on both sides.
  ///   - onDelete: The effect of the deletion of a reference's target on this record.
  ///   - sensitive: True to store an optional string outside the file until the server has it.
  ///   - wire: The name on the server, if it differs.
  ///   - aliases: Other names that the server's records may have for the field.
  public static func field<Value: FieldConvertible>(
    _ name: String, _ type: Value.Type, default defaultValue: Value? = nil, indexed: Bool = false,
    unique: Bool = false, fullText: Bool = false, natural: Bool = false, merge: FieldMergeRule = .remote,
    onDelete: FieldKind.DeleteRule = .nullify, sensitive: Bool = false, wire: String? = nil,
    aliases: [String] = []
  ) -> FieldSchema {
    var kind = Value.fieldKind.value
    switch kind {
    case .reference(let target, _): kind = .reference(to: target, onDelete: onDelete)
    case .references(let target, _): kind = .references(to: target, onDelete: onDelete)
    default: break
    }
    var field = FieldSchema(
      name, kind, optional: Value.self is any OptionalField.Type, default: defaultValue?.fieldValue,
      indexed: indexed,
      unique: unique, fullText: fullText, merge: merge, sensitive: sensitive, wire: wire, aliases: aliases,
      natural: natural)
    field.isDecimal = Value.fieldKind.isDecimal
    if Value.self is any PlainField.Type { return field }
    field.reading.check = { value throws(BothyError) in
      var decoder = FieldDecoder(values: [value], type: name)
      _ = try Value(fromField: &decoder)
    }
    return field
  }
}
