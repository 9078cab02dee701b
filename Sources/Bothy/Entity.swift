/// Makes a struct a type of record: what its properties hold is stored, queried and synced.
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
/// let store = try Store(at: path, schema: StoreSchema(TodoList.self, Todo.self))
/// try store.write { try $0.insert(Todo(title: "Buy rope", list: Reference(list))) }
/// ```
///
/// Every stored property is a field, in the order of the source. Computed and static properties are left
/// alone.
///
/// **What it writes**
/// - `var id: String`, a UUID of version 7 unless one is given. Declare `id` yourself (`let id: String`) where
///   records have a natural key.
/// - `static let schema`, from the types, initial values and attributes of the properties.
/// - `struct Fields`, so that queries are checked by the compiler: `RecordQuery<Todo>().where { $0.done == false }`.
///   Private properties are no part of it.
/// - `var readMark`, by which a save tells what was edited from what is only older. It makes no difference to `==`.
/// - `encode(to:)` and `init(id:from:)`, which read and write columns one by one: no `Codable`, no reflection.
/// - An initialiser with a parameter for each property, as visible as the struct, unless the struct declares
///   an initialiser itself. `id`, optional properties and properties with an initial value may be left out.
///   A property less visible than the struct is a parameter only if it has no initial value.
///
/// **What a field may be**: `Bool`, `Int`, `Int64`, `Double`, `String`, `Date`, `UUID`, `Data`, `Coordinate`,
/// `Blob`, `Reference<Other>` and `[Reference<Other>]`; enums declared `enum Priority: Int, FieldConvertible`;
/// structs declared `struct Address: Codable, JSONField`; and each of these as an optional.
///
/// **Types and defaults**: the type must be written, except beside a literal, `Date()`, `UUID()` and `Data()`.
/// A constant initial value (a literal, an enum case, an initialiser of such) is also the field's default in
/// the schema: what older rows get when the field is new, and records inserted without the struct. A value
/// that differs each time, such as `Date()` or `makeCode()`, serves the initialiser alone.
///
/// **Options of a field**: ``Named(_:wire:aliases:)``, ``Indexed()``, ``UniqueValue()``, ``FullText()``, ``Merge(_:)``,
/// ``OnDelete(_:)``, ``Sensitive()``; ``NotStored()`` keeps a property out of the record.
///
/// - Parameters:
///   - name: The type's name in the schema, in the file and on the server; the struct's name if left out.
///   - writeMode: `.remoteOnly` for records that are written on the server or not at all.
///   - permissions: Who may do what on the server; nil lets every authenticated principal do everything.
///   - wire: The type's name on the wire and on the server, where it is another one. A type that a migration renames keeps
///     the name it had by itself.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(
  _ name: String? = nil, writeMode: TypeSchema.WriteMode = .offlineCapable, permissions: Permissions? = nil,
  wire: String? = nil
) = #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// `@Entity(.local)` and `@Entity("name", .local)`: records that stay on this device.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(_ name: String? = nil, _ scope: EntityScope) =
  #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// `@Entity(.local)`: records that stay on this device and are never sent.
@attached(
  member, names: named(id), named(typeName), named(schema), named(Fields), named(fields), named(encode),
  named(init), named(readMark))
@attached(extension, conformances: Entity)
public macro Entity(_ scope: EntityScope) = #externalMacro(module: "BothyMacros", type: "EntityMacro")

/// Where the records of an entity live.
public enum EntityScope: Sendable {
  /// On this device only.
  case local
}
