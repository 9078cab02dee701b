import BothyStore
import BothySync

/// A record with where it stands towards the server, as results show it.
struct ShownRecord {
  let record: Record
  let state: String
  /// The metres from the place that was asked for, rounded to a tenth.
  var distance: Double?

  init(_ record: Record, in store: SyncedStore) throws {
    self.record = record
    state = try store.state(of: record.recordID).name
  }

  /// Many at once: the outbox is read once.
  static func all(
    _ records: [Record], in store: SyncedStore, nearest: Ordering? = nil
  ) throws -> [ShownRecord] {
    let hasPending = try store.pendingCounts().total > 0
    return try records.map { record in
      var shown = hasPending ? try ShownRecord(record, in: store) : ShownRecord(record, state: "clean")
      if let nearest, let origin = nearest.origin, case .coordinate(let place) = record[nearest.field] {
        shown.distance = (place.distance(to: origin) * 10).rounded() / 10
      }
      return shown
    }
  }

  init(_ record: Record, state: String) {
    self.record = record
    self.state = state
  }

  /// The members `id, type, container, version, state, fields`, and `distance` where one was asked for.
  func write(to writer: inout JSONWriter) {
    writer.member("id", record.id)
    writer.member("type", record.type)
    writer.member("container", record.container)
    writer.member("version", record.version)
    writer.member("state", state)
    if let distance { writer.member("distance", distance) }
    writer.object("fields") { writer in
      for (name, value) in record.fields.sorted(by: { $0.key < $1.key }) {
        writer.key(name)
        value.write(to: &writer)
      }
    }
  }

  /// One member a line.
  func text(_ type: TypeSchema) -> String {
    let version = record.version.map { ", version \($0)" } ?? ""
    var lines = ["\(record.type) \(record.id) (\(state)\(version), container \(record.container))"]
    let width = type.fields.map(\.name.count).max() ?? 0
    for field in type.fields where !record[field.name].isNull {
      let padding = String(repeating: " ", count: width - field.name.count)
      lines.append("  \(field.name)\(padding)  \(record[field.name].shown)")
    }
    return lines.joined(separator: "\n")
  }

  static func table(_ records: [ShownRecord], _ type: TypeSchema) -> String {
    let isMeasured = records.contains { $0.distance != nil }
    var table = TextTable(["id", "state"] + (isMeasured ? ["metres"] : []) + type.fields.map(\.name))
    for shown in records {
      let metres = isMeasured ? [shown.distance.map { "\($0)" } ?? ""] : []
      table.add([shown.record.id, shown.state] + metres + type.fields.map { shown.record[$0.name].shown })
    }
    return table.text(empty: "No records.")
  }
}

extension FieldValue {
  /// The value for people: text bare, dates as RFC 3339, null as nothing.
  var shown: String {
    switch self {
    case .null: ""
    case .text(let text): text
    case .date(let milliseconds): Timestamp(milliseconds: milliseconds).rfc3339
    default: jsonText
    }
  }

  var jsonText: String {
    var writer = JSONWriter()
    write(to: &writer)
    return writer.string
  }
}
