public import BothyStore

/// The description of a pack: its name and version, its schema, and each of its files with length and SHA-256.
///
/// It is the file `manifest.json` of the pack's folder.
public struct PackManifest: Sendable, Hashable {
  /// The format that this version of Bothy writes, and the highest that it reads.
  package static let format = 1
  /// The name of the file in a pack's folder.
  package static let fileName = "manifest.json"

  /// The name of the pack, which all its versions share.
  public var name: String
  /// The version, in the form that the pack's author chose.
  public var version: String
  /// The types with their fields, as in the files.
  public var schema: StoreSchema
  /// The contents of each type, in the order of the schema.
  public var contents: [Contents]
  /// The index first, then the shards in the order of types and keys.
  public var files: [File]

  /// The contents of one type.
  public struct Contents: Sendable, Hashable {
    /// The name of the type.
    public var type: String
    /// The number of records in all files.
    public var rows: Int
    /// The field whose values each have their own file, or `nil` if all rows are in the index.
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
    /// The type whose rows it has, or `nil` for the index.
    public var type: String?
    /// The value of its rows in the field by which the type is split.
    public var key: FieldValue
    /// The number of its records.
    public var rows: Int
    /// The length in bytes.
    public var bytes: Int64
    /// The SHA-256 in hexadecimal.
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

  /// The number of rows of all types.
  public var rows: Int { contents.reduce(0) { $0.addingClamped($1.rows) } }

  /// The number of bytes of all files.
  public var bytes: Int64 { files.reduce(0) { $0.addingClamped($1.bytes) } }

  /// The SHA-256 of the schema's canonical JSON. The same code can read packs with equal fingerprints.
  package var fingerprint: String { Checksum.sha256(of: Array(schema.json.canonicalText.utf8)) }

  /// The SHA-256 of the manifest, and so of the complete pack.
  public var digest: String { Checksum.sha256(of: text) }
}
