import BothyPacks
import BothyStore

/// Columns named on the command line: `[Type.]column,column`.
struct ColumnChoice {
  let text: String
  let type: String?
  let columns: [String]

  init(_ text: String) {
    self.text = text
    let dot = text.firstIndex(of: ".")
    type = dot.map { String(text[..<$0]) }
    let rest = dot.map { text[text.index(after: $0)...] } ?? text[...]
    columns = rest.split(separator: ",").map { column in
      String(column.drop { $0 == " " }).trimmingSuffixSpaces
    }
  }

  /// Returns true if these columns belong to the type.
  func isMeant(_ type: String, has names: some Sequence<String>) -> Bool {
    if let own = self.type { return own == type }
    let names = Set(names)
    return columns.allSatisfy(names.contains)
  }
}

extension String {
  fileprivate var trimmingSuffixSpaces: String {
    var text = self[...]
    while text.last == " " { text.removeLast() }
    return String(text)
  }
}

/// The mapping from the columns of one input to records of one type: the id, a place, or a field.
struct PackColumns {
  let input: PackInput
  /// The columns whose values are the id, in this order. Without any, it is the number of the row.
  var id: [String] = []
  /// The columns of latitude and longitude, and the field that they become.
  var place: (latitude: String, longitude: String, field: String)?
  var type: TypeSchema

  /// The columns that don't become fields of their own.
  var consumed: Set<String> {
    var names = Set(place.map { [$0.latitude, $0.longitude] } ?? [])
    names.insert("id")
    return names
  }

  /// Returns a closure that converts rows to records, one after another.
  func reader() -> (InputRow) throws -> AnyRecord {
    let records = RecordReader(type: type)
    let (consumed, isText, id, place) = (consumed, input.isText, id, place)
    var number = 0
    // The use of each column, determined once.
    var fields: [String: (name: String, schema: FieldSchema?)] = [:]
    return { row in
      number += 1
      var record = AnyRecord(type.name, id: try Self.id(row, id, number))
      for (name, value) in row where !consumed.contains(name) && !value.isNull {
        let field: (name: String, schema: FieldSchema?)
        if let known = fields[name] {
          field = known
        } else {
          let own = ColumnName.identifier(name)
          field = (own, type[own])
          fields[name] = field
        }
        switch (value, field.schema) {
        case (.string(let cell), let schema?) where schema.kind == .text && !schema.isDecimal:
          record[field.name] = .text(cell)
        case (.string(let cell), let schema?) where isText:
          record[field.name] = try records.value(CSVRecordReader.json(cell, schema), of: field.name)
        default: record[field.name] = try records.value(value, of: field.name)
        }
      }
      if let place { record[place.field] = try Self.place(row, place) }
      return record
    }
  }

  private static func id(_ row: InputRow, _ columns: [String], _ number: Int) throws -> String {
    guard !columns.isEmpty else { return number.padded(to: 9) }
    return try columns.map { column in
      switch row.first(where: { $0.name == column })?.value {
      case .string(let text) where !text.isEmpty: return text
      case .int(let whole): return String(whole)
      default: throw ToolError("The row has no text or whole number in '\(column)', which is part of its id.")
      }
    }.joined(separator: "/")
  }

  private static func place(
    _ row: InputRow, _ place: (latitude: String, longitude: String, field: String)
  ) throws -> FieldValue {
    let numbers = [place.latitude, place.longitude].map { name -> Double? in
      switch row.first(where: { $0.name == name })?.value {
      case .string(let text): Double(text)
      case .some(let value): value.doubleValue
      case nil: nil
      }
    }
    guard let latitude = numbers[0], let longitude = numbers[1] else {
      let isEmpty = row.allSatisfy {
        ![place.latitude, place.longitude].contains($0.name) || $0.value.isNull
      }
      guard isEmpty else {
        throw ToolError("'\(place.latitude)' and '\(place.longitude)' aren't a latitude and a longitude.")
      }
      return .null
    }
    return .coordinate(Coordinate(latitude: latitude, longitude: longitude))
  }
}
