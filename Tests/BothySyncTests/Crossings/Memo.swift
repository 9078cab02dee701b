import BothyStore
import BothySync
import BothyTesting
import Testing

extension SimulatedWorld {
  func device(
    _ name: String, _ schema: StoreSchema, policy: MergePolicy = .fieldByField,
    _ configure: (inout SyncOptions) -> Void = { _ in }
  ) throws -> SimulatedDevice {
    var configuration = SyncOptions.quiet
    configuration.merging = MergePolicies(default: policy)
    configure(&configuration)
    return try addDevice(name, schema: schema, configuration: configuration)
  }

  func server(_ type: String, _ id: String) async throws -> [String: JSONValue]? {
    try await serverRecords()[RecordID(type: type, id: id)]?.fields.members()
  }
}

extension SimulatedDevice {
  func set(_ type: String, _ id: String, _ fields: [String: FieldValue]) throws {
    try store.store.write { _ = try $0.update(RecordID(type: type, id: id), fields: fields) }
  }
  func put(_ type: String, _ id: String, _ fields: [String: FieldValue], in container: String? = nil) throws {
    try store.store.write { try $0.insert(AnyRecord(type, id: id, fields, container: container)) }
  }
}

/// Returns a type of its own for dynamic stories.
func memo(
  _ version: Int, name: String = "Memo", title: String = "title", extra: [FieldSchema] = []
) -> StoreSchema {
  StoreSchema(
    version: version,
    types: [
      TypeSchema(
        name,
        fields: [
          FieldSchema(title, .text), FieldSchema("note", .text, optional: true),
          FieldSchema("count", .int, default: .int(0)),
        ] + extra)
    ])
}

extension SimulatedDevice {
  func atomic(_ body: (WriteTransaction) throws -> Void) throws { try store.write(.atomic, body) }
}

extension SimulatedDevice {
  func ids(_ query: AnyQuery) throws -> [String] { try store.store.fetch(query).map(\.id) }
}
