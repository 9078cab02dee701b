/// One row of any type, with its fields by name: what tools and the wire use in place of a Swift struct.
public struct AnyRecord: Sendable, Hashable, Identifiable {
  /// The name of its type in the schema.
  public var type: String
  public var id: String
  /// Fields that are set; an absent name is null.
  public var fields: [String: FieldValue]
  /// The container the record lives in.
  public var container: String
  /// The stamp the server gave with its last change; nil until the server has acknowledged the record.
  public var version: String?
  /// Fields that the server sent and this schema does not know, as one canonical JSON object. They survive
  /// edits and are sent back untouched.
  public var unknownFields: String?
  /// The state that a save of the record compares with, and what is kept beside the fields.
  package var origin: Origin

  /// Where a record comes from. No content: all are equal.
  package struct Origin: Sendable, Hashable {
    package var mark: ReadMark
    /// Whether all fields were read, so that one which is not given was cleared.
    package var isWhole = false
    package var metadata = RecordMetadata()

    package static func == (left: Origin, right: Origin) -> Bool { true }
    package func hash(into hasher: inout Hasher) {}
  }

  /// A record for `insert` and the like, which check its fields. It lives in the container called as its type, when
  /// no other is given. With the version that it was read with, what others changed since is left as it is when the
  /// record is saved.
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

  /// When the record was made and edited, and by whom, as it was read. No part of what makes two records equal.
  public var metadata: RecordMetadata { origin.metadata }

  /// The type and the id, which together name the record.
  public var recordID: RecordID { RecordID(type: type, id: id) }

  /// The value of a field; `.null` when it is not set. Setting `.null` takes it out of `fields`.
  public subscript(_ field: String) -> FieldValue {
    get { fields[field] ?? .null }
    set { fields[field] = newValue == .null ? nil : newValue }
  }
}

extension AnyRecord {
  /// The record of an entity value.
  public init<E: Entity>(_ entity: E) {
    var encoder = FieldEncoder(gathering: E.schema.fields.count)
    entity.encode(to: &encoder)
    self.init(E.typeName, id: entity.id, schema: E.schema, values: encoder.values)
    origin = Origin(mark: entity.readMark, isWhole: true)
  }

  /// From values in the order of `schema.fields`.
  init(_ type: String, id: String, schema: TypeSchema, values: [FieldValue]) {
    self.init(type, id: id)
    for (field, value) in zip(schema.fields, values) where value != .null { fields[field.name] = value }
  }

  /// The entity value of the record. Throws `StoreError` when a field is missing or of another kind.
  public func entity<E: Entity>(_ type: E.Type = E.self) throws(StoreError) -> E {
    var decoder = FieldDecoder(values: values(for: E.schema), type: E.typeName, mark: origin.mark)
    return try E(id: id, from: &decoder)
  }

  /// The values in the order of `schema.fields`.
  public func values(for schema: TypeSchema) -> [FieldValue] { schema.fields.map { self[$0.name] } }
}
