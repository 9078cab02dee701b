/// One declared field of a type.
///
/// `@Entity` declares one for each property. A type that is declared by hand lists its own.
///
/// ```swift
/// let fields: [FieldSchema] = [
///   .field("name", String.self, fullText: true),
///   .field("beds", Int.self, default: 4, indexed: true),
/// ]
/// ```
public struct FieldSchema: Sendable, Hashable {
  /// The name: a letter, then letters, digits or `_`, at most 64 bytes. Not `id`, `rowid`, `true` or `false`, and not
  /// beginning with `bothy`.
  package var name: String
  /// The kind of the field.
  package var kind: ValueKind
  /// True if the field may be null. A required field needs a value at insert, or a default.
  package var isOptional: Bool
  /// The value of a record without one: at insert, and for old rows when the field is added.
  package var defaultValue: FieldValue?
  /// True if the field has an index: an R-tree for a coordinate, a B-tree for other kinds.
  package var isIndexed: Bool
  /// True if no two records may have the same value; nulls don't count. For a synced type only the app's own writes are
  /// checked, one look-up each, so that a pull never fails because of another device's change.
  package var isUnique: Bool
  /// True if the field is part of the type's full-text index (kind `text` only).
  package var isFullText: Bool
  /// True if the value is stored outside the row, in the secret store, until the server has it. Reads return null.
  /// Requires an optional string without an index.
  package var isSensitive: Bool
  /// The merge rule for concurrent edits of this field under `MergePolicy.fieldByField`.
  package var merge: FieldMergeRule
  /// The field's declared name on the wire and on the server, or nil for the name it was first declared by. Apps that
  /// know the field by other names read and write one field.
  package var wire: String?
  /// Other names that records on the server may have for the field. They are read if the wire name has no value. A
  /// write of the field replaces them by the wire name.
  package var aliases: [String]
  /// True if the natural sort keys of the texts are stored and have an index (kind `text` only). See `NaturalOrder`.
  package var isNatural: Bool
  /// True of a field of text with decimals in their stored form. Conditions then take numbers, and tools show them.
  package var isDecimal = false
  /// How the Swift type of the field reads its content.
  package var reading = FieldReading()

  /// Creates a field, by default required and without an index. `StoreSchema.validate` checks it. For Swift types
  /// `FieldSchema.field` is shorter.
  package init(
    _ name: String, _ kind: ValueKind, optional: Bool = false, default defaultValue: FieldValue? = nil,
    indexed: Bool = false, unique: Bool = false, fullText: Bool = false, merge: FieldMergeRule = .remote,
    sensitive: Bool = false, wire: String? = nil, aliases: [String] = [], natural: Bool = false
  ) {
    self.name = name
    self.kind = kind
    isOptional = optional
    self.defaultValue = defaultValue
    isIndexed = indexed
    isUnique = unique
    isFullText = fullText
    self.merge = merge
    isSensitive = sensitive
    self.wire = wire
    self.aliases = aliases
    isNatural = natural
  }

  /// The field's name on the wire.
  package var wireName: String { wire ?? name }

  /// The columns that hold the field: one, or two for a coordinate.
  package var columns: [String] {
    kind == .coordinate ? [name + "_lat", name + "_lon"] : [name]
  }
}

/// The merge of one field after both sides changed it since the base.
///
/// It counts under the policy `MergePolicy.fieldByField`, which is the default.
///
/// ```swift
/// @Entity struct Hut {
///   @Merge(.max) var beds = 4
///   @Merge(.counter) var visits = 0  // what was added here is added there
///   @Merge(.setUnion) var trips: [Reference<Trip>] = []
///   @Merge(.keepBoth) var notes: String?  // merged line by line
/// }
/// ```
public enum FieldMergeRule: String, Sendable, Hashable, CaseIterable {
  /// The server's value stays (the default). This device's edit of the field gives way.
  case remote = "server"
  /// This device's value replaces it. The device that syncs last therefore wins.
  case local = "client"
  /// The later edit wins, by server-corrected time. The server wins ties. It also wins if this device's time wasn't
  /// reliable when the edit was made.
  case latest
  /// The greater value. For numbers, dates and texts. A missing value counts as the smallest.
  case max
  /// The smaller value. For numbers, dates and texts. A missing value counts as the smallest.
  case min
  /// Both differences from the base are added: for counts and amounts. Whole numbers stop at the limits of 64 bits.
  /// Decimals are exact, and one with too many digits keeps the server's value. No value counts as 0 in the base.
  case counter
  /// Elements added on either side are kept in their places, and elements removed on either side are removed: for
  /// lists. Works on references and on arrays in JSON; an element occurs once. A field of another kind keeps the
  /// server's value.
  case setUnion
  /// Texts are merged by lines against the base. If both changed a line, both forms are kept, the server's first. A
  /// field that isn't text keeps the server's value.
  case keepBoth
}
