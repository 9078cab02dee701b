public import BothyStore

extension Pack {
  /// The description of a pack: its name and version, its schema, and each of its files with length and SHA-256.
  ///
  /// It is the file `manifest.json` of the pack's folder. A pack has at most 1,048,576 files. A manifest of a higher
  /// format is refused with `.newerFile`.
  public struct Manifest: Sendable, Hashable {
    /// The format that this version of Bothy writes, and the highest that it reads.
    package static let format = 1
    /// The name of the file in a pack's folder.
    package static let fileName = "manifest.json"

    /// The name of the pack, which all its versions share.
    public var name: String
    /// The version, in the form that the pack's author chose. It has no order.
    ///
    /// Packs of one version may differ; their `digest` then differs too.
    public var version: String
    /// The types with their fields, as in the files.
    ///
    /// None is marked as synced, and no field as sensitive.
    public var schema: StoreSchema
    /// The contents of each type, in the order of the schema. Types without records are among them.
    package var contents: [Contents]
    /// The index first, then the shards in the order of types and keys. It is never empty.
    package var files: [File]

    /// The contents of one type.
    package struct Contents: Sendable, Hashable {
      /// The name of the type.
      package var type: String
      /// The number of records in all files, as the builder counted them. Reading it opens no file.
      package var rows: Int
      /// The field whose values each have their own file, or `nil` if all rows are in the index.
      ///
      /// A condition on this field opens the files of these values alone.
      package var shardedBy: String?

      package init(type: String, rows: Int, shardedBy: String? = nil) {
        self.type = type
        self.rows = rows
        self.shardedBy = shardedBy
      }
    }

    /// One SQLite file.
    ///
    /// Its length is compared when it is opened. Its SHA-256 is compared by an installation and by
    /// `Pack.verify(progress:)`.
    package struct File: Sendable, Hashable {
      /// The name in the pack's folder. It ends in `.sqlite`, has at most 120 bytes and never names another folder.
      package var name: String
      /// The type whose rows it has, or `nil` for the index.
      package var type: String?
      /// The value of its rows in the field by which the type is split.
      ///
      /// It is `.null` for the index, and for the rows of a type without a value.
      package var key: FieldValue
      /// The number of its records. For the index, it is the sum over the types that aren't split.
      package var rows: Int
      /// The length in bytes.
      package var bytes: Int64
      /// The SHA-256 in hexadecimal: 64 digits in lower case.
      package var sha256: String

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
    ///
    /// Adds up the types at each call. A sum that doesn't fit is `Int.max`.
    public var rows: Int { contents.reduce(0) { $0.addingClamped($1.rows) } }

    /// The number of bytes of all files, without the manifest itself.
    ///
    /// Adds up the files at each call. A sum that doesn't fit is `Int64.max`.
    public var bytes: Int64 { files.reduce(0) { $0.addingClamped($1.bytes) } }

    /// The SHA-256 of the schema's canonical JSON. The same code can read packs with equal fingerprints.
    package var fingerprint: String { Checksum.sha256(of: Array(schema.json.canonicalText.utf8)) }

    /// The SHA-256 of the manifest, and so of the complete pack: 64 hexadecimal digits.
    ///
    /// Each call encodes the whole manifest and hashes it. Keep the result to compare it often.
    public var digest: String { Checksum.sha256(of: text) }
  }
}
