/// A record of any type, with its fields by name. Tools and the wire use it in place of a Swift struct.
///
/// ```swift
/// var record = AnyRecord("Hut", id: "corrour", ["name": .text("Corrour"), "beds": .int(6)])
/// record["beds"] = .int(8)
/// try await store.maintenance.importRecords([record])
/// ```
public struct AnyRecord: Sendable, Hashable, Identifiable {
  /// The name of its type in the schema. A write with an unknown name throws `BothyError` `unknownType`.
  public var type: String
  /// The id, unique within the type and compared by its bytes. By default a UUID of version 7.
  public var id: String
  /// The fields with a value. An absent name is null.
  package var fields: [String: FieldValue]
  /// The container of the record. Records of a type are in the container with the type's name, unless they are inserted
  /// in another or moved.
  public var container: String
  /// The server's stamp of the last change, or nil until the server has acknowledged the record.
  package var version: String?
  /// Fields that the server sent and this schema lacks, as one canonical JSON object. They survive edits and are sent
  /// back unchanged.
  package var unknownFields: String?
  /// The state with which a save compares the record, and the data beside the fields.
  package var origin: Origin

  /// The origin of a record. Has no content: all are equal.
  package struct Origin: Sendable, Hashable {
    package var mark: ReadMark
    /// True if all fields were read, so that an absent field was cleared.
    package var isWhole = false
    /// True if the fields were read as a Swift type, with stand-ins for content that it doesn't take.
    var isTyped = false
    package var metadata = RecordMetadata()

    package static func == (left: Origin, right: Origin) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
  }

  /// Creates a record for `insert` and similar methods, which check its fields. Its container defaults to the name of
  /// its type. With the version from a read, a save preserves later changes of other devices.
  ///
  /// - Parameters:
  ///   - type: The name of the type in the schema. It isn't checked here.
  ///   - fields: The fields by name. An absent one gets its default in a new record and stays in an existing one.
  ///   - container: The container of a new record.
  ///   - version: The server's version that the fields were read at, if known.
  ///   - unknownFields: Members that the schema lacks, as one canonical JSON object.
  public init(
    _ type: String, id: String = UUIDv7.make(), _ fields: [String: FieldValue] = [:],
    container: String? = nil, version: String? = nil, unknownFields: String? = nil
  ) {
    self.type = type
    self.id = id
    self.fields = fields
    self.container = container ?? type
    self.version = version
    self.unknownFields = unknownFields
    origin = Origin(mark: version.map { ReadMark(version: $0) } ?? .whole)
  }

  /// The times of creation and of the last edit, and the owner, as they were read. Ignored when records are compared.
  package var metadata: RecordMetadata { origin.metadata }

  /// The type and the id, which together name the record.
  package var recordID: RecordID { RecordID(type: type, id: id) }

  /// The value of a field, or `.null` if it has none. Setting `.null` removes it from `fields`.
  ///
  /// An unknown name reads as `.null`. Setting it is noticed by the write, which throws `BothyError` `unknownField`.
  ///
  /// ```swift
  /// var hut = AnyRecord("Hut", ["name": "Corrour"])
  /// hut["beds"] = 8
  /// ```
  public subscript(_ field: String) -> FieldValue {
    get { fields[field] ?? .null }
    set { fields[field] = newValue == .null ? nil : newValue }
  }

  /// True if a save of the record clears an optional field, because the record is whole and has no value in it.
  package func clears(_ field: FieldSchema) -> Bool {
    origin.isWhole && field.isOptional && fields[field.name] == nil
  }
}

extension AnyRecord {
  /// Creates the record of an entity value.
  ///
  /// A later save of the record changes the fields that differ from the state in which the value was read. Reads
  /// nothing.
  public init<E: Entity>(_ entity: E) {
    var encoder = FieldEncoder(gathering: E.schema.fields.count)
    entity.encode(to: &encoder)
    self.init(E.typeName, id: entity.id, schema: E.schema, values: encoder.values)
    origin = Origin(mark: entity.readMark, isWhole: true, isTyped: true)
  }

  /// Creates a record from values in the order of `schema.fields`.
  init(_ type: String, id: String, schema: TypeSchema, values: [FieldValue]) {
    self.init(type, id: id)
    for (field, value) in zip(schema.fields, values) where value != .null { fields[field.name] = value }
  }

  /// Returns the entity value of the record, with defaults for content that this app doesn't know. Throws `BothyError`
  /// if a field is missing or of another kind.
  package func entity<E: Entity>(_ type: E.Type = E.self) throws(BothyError) -> E {
    let values = values(for: E.schema)
    var decoder = FieldDecoder(values: values, type: E.typeName, mark: origin.mark)
    do throws(BothyError) { return try E(id: id, from: &decoder) } catch {
      decoder = FieldDecoder(values: try E.schema.shown(values), type: E.typeName, mark: origin.mark)
      return try E(id: id, from: &decoder)
    }
  }

  /// Returns the values in the order of `schema.fields`.
  package func values(for schema: TypeSchema) -> [FieldValue] { schema.fields.map { self[$0.name] } }
}
