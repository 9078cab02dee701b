import BothyStore
import BothySync
import BothySyncService
import BothyTesting

/// Parents, children and pets that refer to one another.
extension StoreSchema {
  static let family = StoreSchema(
    types: [
      TypeSchema(
        "Child",
        fields: [
          FieldSchema("name", .text), FieldSchema("parent", .reference(to: "Parent", onDelete: .cascade)),
        ]),
      TypeSchema(
        "Parent",
        fields: [
          FieldSchema("name", .text),
          FieldSchema("best", .reference(to: "Child", onDelete: .nullify), optional: true),
          FieldSchema("friends", .references(to: "Parent", onDelete: .nullify), optional: true),
        ]),
      TypeSchema(
        "Pet",
        fields: [
          FieldSchema("name", .text),
          FieldSchema("owner", .reference(to: "Parent", onDelete: .nullify), optional: true),
        ]),
    ])

}

extension AnyRecord {
  static func parent(_ id: String, best: String? = nil) -> AnyRecord {
    var record = AnyRecord("Parent", id: id, ["name": .text(id)])
    if let best { record["best"] = .text(best) }
    return record
  }

  static func child(_ id: String, of parent: String) -> AnyRecord {
    AnyRecord("Child", id: id, ["name": .text(id), "parent": .text(parent)])
  }

  static func pet(_ id: String, of owner: String) -> AnyRecord {
    AnyRecord("Pet", id: id, ["name": .text(id), "owner": .text(owner)])
  }
}

extension AccessRules {
  /// The rules of a server that rejects references to unknown records.
  static let family = AccessRules(schema: .family, checksReferences: true)
}
