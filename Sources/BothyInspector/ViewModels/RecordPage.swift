import BothyStore
import BothySync
import Foundation
import HTTPTypes
import Hummingbird

/// One page of a type's records. It is read by key, so the last page costs as much as the first.
struct RecordPage {
  let records: [RecordView]
  /// The start of the next page, or `nil` after the last one.
  let next: String?
  /// The number of records that meet the condition, counted for the first page only.
  let total: Int?
  /// The statements that read the page.
  let plan: [ExplainedStatement]

  /// Reads the page. Throws `HTTPFailure`, `BothyError` or `WhereSyntaxError` for an invalid request.
  init(_ call: Request, in store: SyncedStore) async throws {
    let type = try Self.type(call.required("type"), store)
    let limit = call.count("limit", otherwise: 50, most: 200)
    let query = try AnyQuery(
      type.name, where: WhereParser.parse(call.given("where") ?? ""),
      order: SortKey.parse(call.given("order") ?? ""), container: call.given("container")
    ).checked(for: type)
    let whole = query
    let parts = try call.given("after").map {
      query.continuations(after: try PageMark.record($0, of: type), type)
    }
    let (found, total, plan) = try await store.store.read { transaction in
      var found: [AnyRecord] = []
      let plan = try transaction.explained {
        for part in parts ?? [.all] where found.count <= limit {
          var asked = whole
          asked.filter = asked.filter && part
          asked.limit = limit + 1 - found.count
          found += try transaction.fetch(asked)
        }
      }
      return (found, parts == nil ? try transaction.count(whole) : nil, plan)
    }
    let page = Array(found.prefix(limit))
    let nearest = whole.order.first.flatMap { $0.origin == nil ? nil : $0 }
    records = try RecordView.all(page, in: store, nearest: nearest)
    next = found.count > limit ? page.last.map { PageMark.text($0, whole, type) } : nil
    self.total = total
    self.plan = plan
  }

  func write(to writer: inout JSONWriter) {
    writer.list("records", records) { $1.write(to: &$0) }
    writer.member("next", next)
    writer.member("total", total)
    writer.list("plan", plan) { writer, statement in statement.writeMembers(to: &writer) }
  }

  static func type(_ name: String, _ store: SyncedStore) throws -> TypeSchema {
    guard let type = store.store.schema[name] else {
      let known = store.store.schema.types.map(\.name).joined(separator: ", ")
      throw HTTPFailure(.notFound, "unknownType", "This file has no type '\(name)'. Known: \(known).")
    }
    return type
  }
}

/// The end of a page: the sort keys of its last record. The record may be deleted before the next page is read.
enum PageMark {
  /// - Parameter query: a checked query.
  static func text(_ record: AnyRecord, _ query: AnyQuery, _ type: TypeSchema) -> String {
    var writer = JSONWriter()
    var record = record
    record.noteSortKeys(query.order, type)
    writer.object { writer in
      writer.member("id", record.id)
      writer.member("container", record.container)
      writer.member("version", record.version)
      if let time = record.metadata.createdTime { writer.member("created", time) }
      if let time = record.metadata.modifiedTime { writer.member("modified", time) }
      writer.member("owner", record.metadata.owner)
      writer.object("fields") { writer in
        for name in Set(query.order.map(\.field)).sorted() where record.fields[name] != nil {
          writer.key(name)
          record[name].write(to: &writer)
        }
      }
    }
    return Data(writer.bytes).base64EncodedString()
      .replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
  }

  static func record(_ text: String, of type: TypeSchema) throws -> AnyRecord {
    let padded = text.replacing("-", with: "+").replacing("_", with: "/")
    let filled = padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)
    guard let bytes = Data(base64Encoded: filled), let json = try? JSONValue(parsing: Array(bytes)),
      let id = json["id"]?.stringValue
    else {
      throw HTTPFailure(.badRequest, "badMark", "The page's mark can't be read. Begin with the first page.")
    }
    var values: [String: FieldValue] = [:]
    for (name, value) in json["fields"]?.objectValue ?? [:] {
      let kind = name == SortKey.rank ? ValueKind.int : type[name]?.kind
      if let kind { values[name] = try FieldValue(json: value, kind: kind) }
    }
    var record = AnyRecord(type.name, id: id, values, container: json["container"]?.stringValue)
    record.version = json["version"]?.stringValue
    record.origin.metadata = RecordMetadata(
      created: json["created"]?.intValue, modified: json["modified"]?.intValue,
      owner: json["owner"]?.stringValue)
    return record
  }
}
