import BothyStore
import BothySync

/// Pending entries for the page, with their reasons and both sides of each field.
enum PendingWork {
  /// Writes the members of one entry, with `inDoubt, group, comparison`.
  static func write(_ entry: Outbox.Entry, in store: SyncedStore, to writer: inout JSONWriter) throws {
    try entry.writeMembers(to: &writer, in: store)
    writer.member("inDoubt", entry.operationID != nil)
    writer.member("group", entry.group)
    writer.list("comparison", try comparison(entry, in: store)) { $1.write(to: &$0) }
  }

  /// The local value of a field, its base, and its remote value.
  struct ComparedField: Equatable {
    var name: String
    var here: JSONValue?
    var base: JSONValue?
    var server: JSONValue?

    var differs: Bool { (here ?? .null) != (server ?? base ?? .null) }

    func write(to writer: inout JSONWriter) {
      writer.member("field", name)
      writer.member("here", here ?? .null)
      writer.member("base", base ?? .null)
      writer.member("server", server ?? .null)
      writer.member("differs", differs)
    }
  }

  /// Returns every field with a value on any side, in the order of the schema, and then the fields that the schema
  /// lacks.
  static func comparison(_ entry: Outbox.Entry, in store: SyncedStore) throws -> [ComparedField] {
    let type = store.store.schema[entry.id.type]
    let record = entry.change == .delete ? nil : try store.store.record(entry.id)
    var here: [String: JSONValue] = [:]
    for (name, value) in record?.fields ?? [:] where !value.isNull {
      here[name] = value.json
    }
    let base = try entry.base?.fields.members()
    let server = try entry.remoteVersion.map { $0.isDeleted ? [:] : try $0.fields.members() }
    return compare(here: here, base: base, server: server, order: type?.fields.map(\.name) ?? []).map {
      compared in
      guard let field = type?[compared.name] else { return compared }
      return ComparedField(
        name: compared.name, here: compared.here.map { field.written(json: $0) },
        base: compared.base.map { field.written(json: $0) },
        server: compared.server.map { field.written(json: $0) })
    }
  }

  static func compare(
    here: [String: JSONValue], base: [String: JSONValue]?, server: [String: JSONValue]?, order: [String]
  ) -> [ComparedField] {
    let names = Set(here.keys).union((base ?? [:]).keys).union((server ?? [:]).keys)
    let known = order.filter(names.contains)
    let rest = names.subtracting(known).sorted()
    return (known + rest).map {
      ComparedField(name: $0, here: here[$0], base: base?[$0], server: (server ?? base)?[$0])
    }
  }
}
