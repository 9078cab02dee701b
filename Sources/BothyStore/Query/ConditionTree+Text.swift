import Foundation

/// The condition in the text form that `WhereParser` reads.
extension ConditionTree: CustomStringConvertible {
  package var description: String { text(inside: false) }

  private func text(inside: Bool) -> String {
    switch self {
    case .all: return "TRUE"
    case .none: return "FALSE"
    case .and(let parts): return Self.joined(parts, "AND", empty: "TRUE", inside)
    case .or(let parts): return Self.joined(parts, "OR", empty: "FALSE", inside)
    case .not(let part): return "NOT " + part.text(inside: true)
    case .compare(let field, .equal, .null): return "\(field) IS NULL"
    case .compare(let field, .notEqual, .null): return "\(field) IS NOT NULL"
    case .compare(let field, let comparison, let value):
      return "\(field) \(comparison.rawValue) \(value.whereText)"
    case .compareFields(let field, let comparison, let other):
      return "\(field) \(comparison.rawValue) \(other)"
    case .compareNaturally(let field, let comparison, let text):
      return "\(field) NATURAL \(comparison.rawValue) \(text.whereQuoted)"
    case .oneOf(let field, let values):
      return "\(field) IN (\(values.map(\.whereText).joined(separator: ", ")))"
    case .contains(let field, let text, let ignoringCase):
      return "\(field) CONTAINS\(ignoringCase ? "[c]" : "") \(text.whereQuoted)"
    case .beginsWith(let field, let text, let ignoringCase):
      return "\(field) BEGINSWITH\(ignoringCase ? "[c]" : "") \(text.whereQuoted)"
    case .includes(let field, let element): return "\(field) INCLUDES \(element.whereText)"
    case .near(let field, let centre, let metres):
      return "\(field) WITHIN \(metres) OF \(centre.latitude),\(centre.longitude)"
    case .inside(let field, let box):
      return "\(field) INSIDE \(box.west),\(box.south),\(box.east),\(box.north)"
    case .matches(let text, let fields, let least):
      return "MATCHES \(text.whereQuoted)"
        + (fields.isEmpty ? "" : " IN (\(fields.joined(separator: ", ")))")
        + (least > 0 ? " RANK \(least)" : "")
    case .relates(let field, let relation, let other): return "\(field) \(relation.word) \(other)"
    case .exists(let type, let condition): return "EXISTS(\(type) WHERE \(condition.text(inside: false)))"
    }
  }

  private static func joined(_ parts: [ConditionTree], _ word: String, empty: String, _ inside: Bool)
    -> String
  {
    if parts.isEmpty { return empty }
    if parts.count == 1 { return parts[0].text(inside: inside) }
    let text = parts.map { $0.text(inside: true) }.joined(separator: " \(word) ")
    return inside ? "(\(text))" : text
  }
}

extension FieldValue {
  /// The value in the form that `WhereParser` reads. Kinds without such a form are their JSON text in quotes.
  var whereText: String {
    switch self {
    case .null: return "null"
    case .bool(let flag): return flag ? "true" : "false"
    case .int(let number): return String(number)
    case .double(let number): return number.description
    case .text(let text): return text.whereQuoted
    case .date(let milliseconds):
      let years: Range<Int64> = -62_167_219_200_000..<253_402_300_800_000  // 0000 to 9999
      return years.contains(milliseconds)
        ? Timestamp(milliseconds: milliseconds).rfc3339 : String(milliseconds)
    case .data(let data): return data.base64EncodedString().whereQuoted
    case .coordinate, .json, .list:
      var writer = JSONWriter()
      write(to: &writer)
      return writer.string.whereQuoted
    }
  }
}

extension String {
  fileprivate var whereQuoted: String { quoted(by: "'") }
}
