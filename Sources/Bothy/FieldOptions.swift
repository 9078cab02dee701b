// The options of a field: attributes on the stored properties of a struct marked `@Entity`. They add no code.

/// The field's names where they are not the property's.
///
/// ```swift
/// @Named("due_at") var due: Date?
/// @Named(wire: "title") var heading: String   // called `title` by the server and by older apps
/// ```
///
/// - Parameters:
///   - name: Its name in the schema and in the file, and on the wire unless `wire` says otherwise.
///   - wire: Its name on the wire and on the server. A field that a migration renames keeps the name it had by itself.
///   - aliases: Names under which records on the server may have the field too.
@attached(peer)
public macro Named(_ name: String? = nil, wire: String? = nil, aliases: [String] = []) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Keeps an index, so that filtering and sorting by the field cost what they return, not what the type holds. Of a
/// `Coordinate` it is an R-tree, for circles, boxes and the nearest.
/// Each index makes a write of the record a few microseconds longer.
@attached(peer)
public macro Indexed() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Lets no two records of the type hold the same value; a write that would throws `StoreError`
/// `.uniqueViolation`. Optional fields may be nil any number of times.
///
/// Of synced types a server with the schema refuses what devices that were apart gave twice: the later one waits in the
/// inbox. Until that is decided, or where the server has no schema, records here may collide; they can be edited.
@attached(peer)
public macro UniqueValue() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Makes the words of the field part of the type's full-text index. For `String` and `String?`.
@attached(peer)
public macro FullText() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Keeps the value out of the database: it is in the secret store until the server has it, sent over https: only, and
/// read as nil. For `String?`.
///
/// ```swift
/// @Sensitive var password: String?
/// ```
@attached(peer)
public macro Sensitive() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// How the field is merged when this device and the server both changed it and the type's policy is
/// `MergePolicy.fieldMerge`.
///
/// ```swift
/// @Merge(.counter) var views = 0
/// ```
@attached(peer)
public macro Merge(_ rule: FieldMergeRule) = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// What happens to this record when the one it refers to is deleted; without it, the reference becomes nil.
/// A reference that isn't optional needs `.cascade` or `.deny`.
///
/// ```swift
/// @OnDelete(.cascade) var list: Reference<TodoList>
/// ```
@attached(peer)
public macro OnDelete(_ rule: FieldKind.DeleteRule) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Keeps a property out of the record: it is neither stored nor synced, and has its initial value whenever the
/// record is read. Its type may be left out; it is then no parameter of the memberwise initialiser.
@attached(peer)
public macro NotStored() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")
