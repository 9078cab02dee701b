/// One declared field of a type.
public struct FieldSchema: Sendable, Hashable {
  public var name: String
  public var kind: FieldKind
  public var isOptional: Bool
  /// The value a record gets when none is given: at insert, and for old rows when the field is added.
  public var defaultValue: FieldValue?
  /// Whether there is an index: of a coordinate an R-tree, of anything else a B-tree.
  public var isIndexed: Bool
  public var isUnique: Bool
  /// Part of the type's full-text index (kind `text` only).
  public var isFullText: Bool
  /// Kept out of the row and of all that is stored of it: in the secret store until the server has it, and read as
  /// null. An optional string without an index.
  public var isSensitive: Bool
  /// How concurrent edits of this field are merged under `MergePolicy.fieldMerge`.
  public var merge: FieldMergeRule

  public init(
    _ name: String, _ kind: FieldKind, optional: Bool = false, default defaultValue: FieldValue? = nil,
    indexed: Bool = false, unique: Bool = false, fullText: Bool = false, merge: FieldMergeRule = .server,
    sensitive: Bool = false
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
  }

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
  /// Elements added on either side are kept, elements removed on either side are gone: for lists.
  case setUnion
  /// Both texts, the server's first, when neither contains the other.
  case keepBoth
}
