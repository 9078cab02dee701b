import BothyInspector
import BothyStore
import BothySync
import Foundation

/// Records as text.
extension RecordView {
  /// Returns the record with one member on each line.
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

  static func table(_ records: [RecordView], _ type: TypeSchema) -> String {
    let isMeasured = records.contains { $0.distance != nil }
    var table = TextTable(
      ["id", "state"] + (isMeasured ? ["metres"] : []) + type.fields.map(\.name), whole: ["id"])
    for shown in records {
      let metres = isMeasured ? [shown.distance.map { "\($0)" } ?? ""] : []
      table.add([shown.record.id, shown.state] + metres + type.fields.map { shown.record[$0.name].shown })
    }
    return table.text(empty: "No records.")
  }
}

extension FieldValue {
  /// The value for people: plain text, dates as RFC 3339, bytes as base64, and null as empty text.
  var shown: String {
    switch self {
    case .null: ""
    case .text(let text): text
    case .data(let data): data.base64EncodedString()
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
