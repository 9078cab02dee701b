public import BothyStore

/// What a pack says of itself: its name and version, its schema, and each of its files with length and SHA-256.
///
/// It is the file `manifest.json` of the pack's folder.
public struct PackManifest: Sendable, Hashable {
  /// The format this version of Bothy writes, and the highest it reads.
  public static let format = 1
  /// The name of the file in a pack's folder.
  public static let fileName = "manifest.json"

  /// What the pack is called: the same for all its editions.
  public var name: String
  /// Which edition it is, in the words of whoever built it.
  public var version: String
  /// The types with their fields, as they stand in the files.
  public var schema: StoreSchema
  /// One for each type, in the order of the schema.
  public var contents: [Contents]
  /// The index first, then the shards in the order of types and keys.
  public var files: [File]

  /// What there is of one type.
  public struct Contents: Sendable, Hashable {
    /// The name of the type.
    public var type: String
    /// How many records there are, in all files together.
    public var rows: Int
    /// The field whose values each have a file of their own; nil when all rows are in the index.
    public var shardedBy: String?

    package init(type: String, rows: Int, shardedBy: String? = nil) {
      self.type = type
      self.rows = rows
      self.shardedBy = shardedBy
    }
  }

  /// One SQLite file.
  public struct File: Sendable, Hashable {
    /// The name in the pack's folder.
    public var name: String
    /// The type whose rows it has; nil for the index.
    public var type: String?
    /// The value that its rows have in the field they are sharded by.
    public var key: FieldValue
    /// How many records are in it.
    public var rows: Int
    /// Its length.
    public var bytes: Int64
    /// In hexadecimal.
    public var sha256: String

    package init(
      name: String, type: String? = nil, key: FieldValue = .null, rows: Int, bytes: Int64, sha256: String
    ) {
      self.name = name
      self.type = type
      self.key = key
      self.rows = rows
      self.bytes = bytes
      self.sha256 = sha256
    }
  }

  package init(name: String, version: String, schema: StoreSchema, contents: [Contents], files: [File]) {
    self.name = name
    self.version = version
    self.schema = schema
    self.contents = contents
    self.files = files
  }

  /// The rows of all types.
  public var rows: Int { contents.reduce(0) { $0.addingClamped($1.rows) } }

  /// The bytes of all files.
  public var bytes: Int64 { files.reduce(0) { $0.addingClamped($1.bytes) } }

  /// SHA-256 of the schema's canonical JSON: two packs with the same one are read by the same code.
  public var fingerprint: String { Checksum.sha256(of: Array(schema.json.canonicalText.utf8)) }

  /// SHA-256 of the manifest, and so of all there is in the pack.
  public var digest: String { Checksum.sha256(of: text) }
}
