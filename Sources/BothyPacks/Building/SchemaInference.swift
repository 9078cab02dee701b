package import BothyStore

/// Infers the kinds of columns from rows: the narrowest kind that fits all values of a column.
///
/// Texts of CSV become whole numbers, numbers, Booleans or times if all values have that form and nothing is lost.
/// `007` stays text. So does a day without a time, which isn't a point in time.
package struct SchemaInference: Sendable {
  /// The kinds that a column may still have.
  private struct Column {
    var name: String
    var kinds = Guess.any
    var hasValue = false
    var hasNull = false
  }

  private struct Guess: OptionSet {
    var rawValue: UInt8
    static let bool = Guess(rawValue: 1)
    static let int = Guess(rawValue: 2)
    static let double = Guess(rawValue: 4)
    static let date = Guess(rawValue: 8)
    static let coordinate = Guess(rawValue: 16)
    static let text = Guess(rawValue: 32)
    static let json = Guess(rawValue: 64)
    static let any = Guess(rawValue: 127)
  }

  private var columns: [Column] = []
  private var positions: [String: Int] = [:]
  private var rows = 0

  package init() {}

  /// The names so far, in the order in which they came.
  package var names: [String] { columns.map(\.name) }

  /// Adds one row. `isText` is true if its values are texts that may represent another kind, as in CSV.
  package mutating func add(_ row: [(name: String, value: JSONValue)], isText: Bool) {
    rows += 1
    for (name, value) in row {
      let position: Int
      if let known = positions[name] {
        position = known
      } else {
        position = columns.count
        positions[name] = position
        columns.append(Column(name: name, hasNull: rows > 1))
      }
      if value.isNull {
        columns[position].hasNull = true
      } else {
        columns[position].hasValue = true
        columns[position].kinds.formIntersection(Self.guesses(value, isText))
      }
    }
    // A name that the row doesn't have is null there.
    if row.count < columns.count {
      let present = Set(row.map(\.name))
      for position in columns.indices where !present.contains(columns[position].name) {
        columns[position].hasNull = true
      }
    }
  }

  /// Returns the type of the rows, without the columns left out.
  package func type(named name: String, leavingOut left: Set<String>) -> TypeSchema {
    let fields = columns.filter { !left.contains($0.name) }.map { column in
      FieldSchema(column.name, Self.kind(column), optional: column.hasNull || !column.hasValue)
    }
    return TypeSchema(name, fields: fields, synced: false)
  }

  private static func kind(_ column: Column) -> ValueKind {
    guard column.hasValue else { return .text }
    let order: [(Guess, ValueKind)] = [
      (.bool, .bool), (.int, .int), (.double, .double), (.date, .date), (.coordinate, .coordinate),
      (.text, .text),
    ]
    return order.first { column.kinds.contains($0.0) }?.1 ?? .json
  }

  private static func guesses(_ value: JSONValue, _ isText: Bool) -> Guess {
    switch value {
    case .null: return .any
    case .bool: return [.bool, .json]
    case .int: return [.int, .double, .json]
    case .double: return [.double, .json]
    case .array: return [.json]
    case .object(let members):
      return members.count == 2 && members["lat"]?.doubleValue != nil && members["lon"]?.doubleValue != nil
        ? [.coordinate, .json] : [.json]
    case .string(let text): return guesses(text, isText)
    }
  }

  private static func guesses(_ text: String, _ isText: Bool) -> Guess {
    var guesses: Guess = [.text, .json]
    if text.utf8.contains(UInt8(ascii: "T")), Timestamp(rfc3339: text) != nil, hasZone(text) {
      guesses.insert(.date)
    }
    guard isText else { return guesses }
    if text == "true" || text == "false" { guesses.insert(.bool) }
    guard text.utf8.first.map({ $0 == UInt8(ascii: "-") || (0x30...0x39).contains($0) }) == true,
      let number = try? JSONValue(parsing: text)  // not a JSON number: text
    else { return guesses }
    if let whole = Int64(text), String(whole) == text { guesses.formUnion([.int, .double]) }
    if case .double(let value) = number, value.isFinite { guesses.insert(.double) }
    return guesses
  }

  /// Returns true if a time has a time zone. A time without one isn't a point in time.
  private static func hasZone(_ text: String) -> Bool {
    text.hasSuffix("Z") || text.dropFirst(11).contains { $0 == "+" || $0 == "-" }
  }
}
