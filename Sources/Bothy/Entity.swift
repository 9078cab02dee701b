/// Makes a struct a type of record: its stored properties are stored, queried and synced.
///
/// ```swift
/// import Bothy
/// import Foundation
///
/// @Entity struct Todo {
///   @FullText var title: String
///   var done = false
///   @Indexed var due: Date?
///   @OnDelete(.cascade) var list: Reference<TodoList>
/// }
///
/// let store = try LocalStore(at: path, schema: StoreSchema(TodoList.self, Todo.self))
/// try await store.write { transaction in
///   let list = TodoList(name: "Shopping")
///   try transaction.insert(list)
///   try transaction.insert(Todo(title: "Buy rope", list: Reference(list)))
/// }
/// ```
///
/// Every stored property is a field, in the order of the source. Computed and static properties are ignored.
///
/// **Generated members**
/// - `var id: String`, a UUID of version 7 by default. Declare `id` yourself (`let id: String`) if records have a
///   natural key.
/// - `static let schema`, from the types, initial values and attributes of the properties.
/// - `struct Fields`, with which the compiler checks queries such as `RecordQuery<Todo>().where { $0.done == false }`.
///   It leaves out private properties.
/// - `var readMark`, by which a save distinguishes an edited value from an outdated one. It doesn't affect `==`.
/// - `encode(to:)` and `init(id:from:)`, which read and write columns one by one, without `Codable` and reflection.
/// - An initialiser with a parameter for each property, as visible as the struct, unless the struct declares an
///   initialiser itself. `id`, optional properties and properties with an initial value may be left out. A property
///   less visible than the struct is a parameter only if it has no initial value.
///
/// **Types of fields**: `Bool`, `Int`, `Int32`, `Int64`, `Float`, `Double`, `Decimal`, `String`, `URL`, `Date`,
/// `CalendarDate`, `UUID`, `Data`, `Coordinate`, `Blob`, `Reference<Other>`, `[Reference<Other>]`, and lists of plain
/// values such as `[String]`. Also enums declared `enum Priority: Int, FieldConvertible`, structs declared
/// `struct Address: Codable, JSONField`, and optionals of all these.
///
/// **Types and defaults**: the type must be written, except beside a literal, `Date()`, `UUID()` and `Data()`. A
/// constant initial value (a literal, an enum case, an initialiser with such arguments) is also the field's default in
/// the schema. Older records get the default when the field is new, and so do records inserted without the struct. Only
/// the initialiser uses a value that differs each time, such as `Date()` or `makeCode()`.
///
/// **Options of a field**: ``Named(_:wire:aliases:)``, ``Indexed(with:where:natural:)``, ``UniqueValue(with:)``,
/// ``FullText()``, ``Merge(_:)``, ``OnDelete(_:)``, ``Sensitive()``. ``NotStored()`` excludes a property from the
/// record.
///
/// - Parameters:
///   - name: The type's name in the schema, in the file and on the server. Defaults to the struct's name.
///   - remoteOnly: True for records that are written only on the server. Without a network a save of one fails and isn't
///     queued.
///   - permissions: The rights of users on a server with the schema. If nil, all users of the space have all rights.
///   - wire: The type's name on the wire and on the server, if it differs. A type that a migration renames keeps its
///     former wire name by default.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(
  _ name: String? = nil, remoteOnly: Bool = false, permissions: Permissions? = nil, wire: String? = nil
) = #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// Makes a struct a type of record that stays on this device: `@Entity(.local)` or `@Entity("name", .local)`.
///
/// Generates the members that `@Entity` generates without a scope. A synced type can't become local by a migration, nor
/// the other way: opening the file then throws `BothyError` `.schemaMismatch`.
///
/// - Parameter name: The type's name in the schema and in the file. Defaults to the struct's name.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(_ name: String? = nil, _ scope: EntityScope) =
  #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// Makes a struct a type of record that stays on this device and is never sent: `@Entity(.local)`.
///
/// Saves of such records need no network, whatever the write policy. The type has the struct's name in the schema and
/// in the file.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(_ scope: EntityScope) = #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// The place where the records of an entity are stored.
///
/// ```swift
/// @Entity(.local) struct SearchTerm {
///   var text: String
/// }
/// ```
public enum EntityScope: Sendable {
  /// On this device only. The record has no version and no metadata, and is in the container of its type only.
  case local
}
