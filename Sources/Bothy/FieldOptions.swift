// The options of a field: attributes on the stored properties of a struct marked `@Entity`. They add no code.

/// Sets the field's names, if they differ from the property's.
///
/// ```swift
/// @Entity struct Todo {
///   @Named("due_at") var due: Date?
///   @Named(wire: "title") var heading: String  // called `title` by the server and by older apps
/// }
/// ```
///
/// - Parameters:
///   - name: The field's name in the schema and in the file, and on the wire unless `wire` is given.
///   - wire: The field's name on the wire and on the server. A field that a migration renames keeps its former wire
///     name by default.
///   - aliases: Other names that records on the server may have for the field.
@attached(peer)
public macro Named(_ name: String? = nil, wire: String? = nil, aliases: [String] = []) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Adds an index, so that filtering and sorting by the field cost time in proportion to the result, not to the type.
/// The index of a `Coordinate` is an R-tree, for circles, boxes and the nearest.
/// Each index makes a write of the record a few microseconds longer.
///
/// ```swift
/// @Entity struct Hut {
///   @Indexed var beds = 4
///   @Indexed var position: Coordinate?
/// }
///
/// let roomy = Hut.where { $0.beds >= 6 }
/// ```
///
/// With other fields it is one index of all of them, in that order. It serves conditions on the first fields with a
/// sort by the next, and may stand beside a plain `@Indexed`. With a condition the index has only the records that meet
/// it, and serves queries with the same condition:
///
/// ```swift
/// @Entity struct Repair {
///   @Indexed(with: "due", where: "done = false") var hut: Reference<Hut>?
///   var due: Date?
///   var done = false
/// }
///
/// let finse = Hut(name: "Finse")
/// let next = Repair.where { $0.hut == finse && !$0.done }.order(by: \.due)
/// ```
///
/// A natural index has stored sort keys of a `String` or `String?`, for `order(by: \.name, natural: true)`: without
/// case and accents, and numbers by their value. It may stand beside a plain one, which serves equality and prefixes. A
/// key is a column of its own, about as long as the text, and costs a few microseconds more at a write of the text.
///
/// ```swift
/// @Entity struct Track {
///   @Indexed(natural: true) var name: String
/// }
///
/// let tracks = Track.order(by: \.name, natural: true)  // track 9, Track 10
/// ```
///
/// A server with the schema has an index of the first field only. A name that isn't a field's is an error of the
/// compiler. A condition that no index can have throws `BothyError` `invalidSchema` when the store is opened.
///
/// - Parameters:
///   - others: The names of further fields of the index, in the schema.
///   - condition: The condition as text. It compares fields with values, joined by AND, OR and NOT. Values in `IN (…)`
///     serve queries for one of them.
///   - natural: True to store the natural sort keys of the field, with an index.
@attached(peer)
public macro Indexed(with others: String..., where condition: String? = nil, natural: Bool = false) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Requires that no two records of the type have the same value. A write of a duplicate throws `BothyError`
/// `.uniqueViolation`. Optional fields may be nil any number of times.
///
/// ```swift
/// @Entity struct Member {
///   @UniqueValue var email: String
///   @UniqueValue var cardNumber: String?
/// }
/// ```
///
/// Devices that are offline can give the same value twice in a synced type. A server with the schema rejects the later
/// change, which stays pending. Until it is resolved, or if the server has no schema, two records here may have the
/// same value; both can be edited.
///
/// With other fields, no two records have the same values in all of them. A record without a value in one of them
/// doesn't count:
///
/// ```swift
/// @Entity struct Booking {
///   @UniqueValue(with: "night") var hut: Reference<Hut>?
///   var night: Date
/// }
/// ```
///
/// Costs one look-up in an index a write. A coordinate can't be unique.
///
/// - Parameter others: The names of the other fields, in the schema.
@attached(peer)
public macro UniqueValue(with others: String...) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Adds the words of the field to the type's full-text index. For `String` and `String?`.
///
/// A query by `matching` finds records whose fields have all words, the last one as a prefix. It looks the words up in
/// the index. The result has the order of the query, or with `bestFirst` that of relevance.
///
/// ```swift
/// @Entity struct Stop {
///   @FullText var place: String
///   @FullText var notes: String?
/// }
///
/// let found = try await store.fetch(Stop.all.matching("fins").limit(20))
/// ```
@attached(peer)
public macro FullText() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Stores the value outside the database, in the secret store, until the server has it. It is sent over TLS or to this
/// machine only, and reads return nil. For `String?`.
///
/// ```swift
/// @Entity struct WirelessNetwork {
///   var name: String
///   @Sensitive var password: String?
/// }
/// ```
///
/// The field has no default and no index, and its type is synced, else opening the store throws `BothyError`
/// `invalidSchema`. To another machine without TLS the change is rejected with the code
/// `insecureAddress`, and stays pending. A field that becomes sensitive later needs the step `.makeSensitive`.
@attached(peer)
public macro Sensitive() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Sets the rule that merges the field after both this device and the server changed it. Applies under the type's
/// policy `MergePolicy.fieldByField`.
///
/// ```swift
/// @Entity struct Hut {
///   var name: String  // the server's value stays
///   @Merge(.counter) var visits = 0  // what was added here is added there
/// }
/// ```
///
/// Without it the server's value stays. Each device merges by the rule of its own app, so change the rule of all
/// versions together.
///
/// - Parameter rule: The rule; see `FieldMergeRule` for the types of fields that each fits.
@attached(peer)
public macro Merge(_ rule: FieldMergeRule) = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Sets the effect on this record when the record it refers to is deleted. Without it, the reference becomes nil. A
/// reference that isn't optional needs `.cascade` or `.deny`.
///
/// ```swift
/// @Entity struct Todo {
///   var title: String
///   @OnDelete(.cascade) var list: Reference<TodoList>  // deleted with its list
/// }
/// ```
///
/// For references and lists of them. The rule runs in the transaction of the deletion and finds the records by an
/// index. For a type that isn't synced it also runs when the server reports that another device deleted the record. A
/// record that only leaves this device, such as one out of the followed containers, isn't deleted.
///
/// - Parameter rule: `.cascade` deletes this record too, `.nullify` clears the reference, and `.deny` makes the
///   deletion throw `BothyError` `.denied`.
@attached(peer)
public macro OnDelete(_ rule: FieldKind.DeleteRule) =
  #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")

/// Excludes a property from the record. It is neither stored nor synced, and has its initial value whenever the record
/// is read. Its type may be left out; it is then no parameter of the memberwise initialiser.
///
/// ```swift
/// @Entity struct Film {
///   var title: String
///   @NotStored var progress = 0.0
/// }
/// ```
///
/// The property needs an initial value. Queries can't name it.
@attached(peer)
public macro NotStored() = #externalMacro(module: "BothyMacros", type: "FieldMarkerMacro")
