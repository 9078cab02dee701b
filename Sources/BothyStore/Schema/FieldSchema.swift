/// One declared field of a type.
public struct FieldSchema: Sendable, Hashable {
  /// A letter, then letters, digits or `_`, at most 64 bytes; not `id`, and not beginning with `bothy`.
  public var name: String
  /// What the field holds.
  public var kind: FieldKind
  /// Whether it may be null. A required field needs a value at insert, or a default.
  public var isOptional: Bool
  /// The value a record gets when none is given: at insert, and for old rows when the field is added.
  public var defaultValue: FieldValue?
  /// Whether there is an index: of a coordinate an R-tree, of anything else a B-tree.
  public var isIndexed: Bool
  /// Whether no two records may have the same value; nulls don't count. For a synced type only the app's own writes
  /// are checked, one look-up each, so that a pull never fails on what another device did.
  public var isUnique: Bool
  /// Part of the type's full-text index (kind `text` only).
  public var isFullText: Bool
  /// Kept out of the row and of all that is stored of it: in the secret store until the server has it, and read as
  /// null. An optional string without an index.
  public var isSensitive: Bool
  /// How concurrent edits of this field are merged under `MergePolicy.fieldMerge`.
  public var merge: FieldMergeRule
  /// The field's name on the wire and on the server, where it was said; nil for the name it was first declared by. Apps
  /// that know the field by other names read and write one field.
  public var wire: String?
  /// Other names that records on the server may have for the field: read where there is no value under the wire name, and
  /// replaced by the wire name when the field is written.
  public var aliases: [String]

  /// A required field without an index, unless told otherwise; `StoreSchema.validate` checks it. For Swift types
  /// `FieldSchema.field` is shorter.
  public init(
    _ name: String, _ kind: FieldKind, optional: Bool = false, default defaultValue: FieldValue? = nil,
    indexed: Bool = false, unique: Bool = false, fullText: Bool = false, merge: FieldMergeRule = .server,
    sensitive: Bool = false, wire: String? = nil, aliases: [String] = []
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
  }

  /// The field's name on the wire.
  public var wireName: String { wire ?? name }

  /// The columns that hold the field: one, or two for a coordinate.
  public var columns: [String] {
    kind == .coordinate ? [name + "_lat", name + "_lon"] : [name]
  }
}

/// How one field is merged when both sides changed it since the base.
public enum FieldMergeRule: String, Sendable, Hashable, CaseIterable {
  /// The server's value stays (the default).
  case server
  /// This device's value replaces it.
  case client
  /// The edit made later, by server-corrected time; ties go to the server.
  case latest
  /// The greater value.
  case max
  /// The smaller value.
  case min
  /// Both differences from the base are added: for counts.
  case counter
  /// Elements added on either side are kept where they were added, elements removed on either side are gone: for lists.
  case setUnion
  /// Texts are merged by lines against the base; of a line that both changed both forms are kept, the server's first.
  case keepBoth
}
