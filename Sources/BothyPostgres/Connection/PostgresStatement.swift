import BothyStore
import CPostgres

/// One statement with its parameters, as bytes in PostgreSQL's binary formats.
struct PostgresStatement {
  private(set) var sql: String
  /// True if the statement stays prepared. Statements that vary endlessly don't.
  var isKept = true
  private(set) var types: [Oid] = []
  /// The bytes of the parameters. They begin with an unused byte so that an empty text has an address, which libpq
  /// otherwise takes for null.
  private(set) var bytes: [UInt8] = [0]
  /// The range of each parameter in `bytes`; `nil` for null.
  private(set) var ranges: [Range<Int>?] = []

  init(_ sql: String) { self.sql = sql }

  /// Makes a statement whose first parameter is the space.
  init(_ sql: String, in space: String) {
    self.sql = sql
    bind(space)
  }

  /// Makes a command without parameters that isn't prepared.
  static func command(_ sql: String) -> PostgresStatement { PostgresStatement("").saying(sql) }

  /// Returns a statement with this SQL and the present parameters that isn't prepared.
  func saying(_ sql: String) -> PostgresStatement {
    var statement = self
    statement.sql = sql
    statement.isKept = false
    return statement
  }

  var parameterCount: Int { types.count }

  /// The name of the prepared statement. It follows from the SQL (FNV-1a), so that no client of a pooler runs another's
  /// statement by its name.
  var name: String {
    "bothy_" + String(sql.utf8.fnv1a(), radix: 16)
  }

  /// The types of parameters, by the numbers of `pg_type`.
  enum Kind: Oid {
    case bool = 16
    case bytes = 17
    case int = 20
    case text = 25
    case double = 701

    var array: Oid {
      switch self {
      case .bool: 1000
      case .bytes: 1001
      case .int: 1016
      case .text: 1009
      case .double: 1022
      }
    }
  }

  mutating func bind(_ text: String?) { add(.text, text) { $0.append(utf8: $1) } }
  mutating func bind(_ number: Int64?) { add(.int, number) { $0.append(bigEndian: $1) } }
  mutating func bind(_ number: Double) { add(.double, number) { $0.append(bigEndian: $1.bitPattern) } }
  mutating func bind(_ flag: Bool) { add(.bool, flag) { $0.append($1 ? 1 : 0) } }
  mutating func bind(bytes: [UInt8]) { add(.bytes, bytes) { $0.append(contentsOf: $1) } }
  /// Binds a text as its UTF-8.
  mutating func bind(utf8 text: [UInt8]) { add(.text, text) { $0.append(contentsOf: $1) } }

  mutating func bind(_ texts: [String]) { bind(texts.map { Optional($0) }) }
  mutating func bind(_ texts: [String?]) { addArray(.text, texts) { $0.append(utf8: $1) } }
  mutating func bind(_ numbers: [Int64]) { bind(numbers.map { Optional($0) }) }
  mutating func bind(_ numbers: [Int64?]) { addArray(.int, numbers) { $0.append(bigEndian: $1) } }
  mutating func bind(_ numbers: [Double]) {
    addArray(.double, numbers) { $0.append(bigEndian: $1.bitPattern) }
  }
  mutating func bind(_ flags: [Bool]) { addArray(.bool, flags) { $0.append($1 ? 1 : 0) } }

  private mutating func add<Value>(_ kind: Kind, _ value: Value?, _ write: (inout [UInt8], Value) -> Void) {
    types.append(kind.rawValue)
    guard let value else { return ranges.append(nil) }
    let start = bytes.count
    write(&bytes, value)
    ranges.append(start..<bytes.count)
  }

  /// Adds an array of one dimension. It has the number of dimensions, a flag for nulls, the element's type, its length
  /// and its first index. After them each element follows with its length.
  private mutating func addArray<Value>(
    _ kind: Kind, _ values: [Value?], _ write: (inout [UInt8], Value) -> Void
  ) {
    types.append(kind.array)
    let start = bytes.count
    bytes.append(bigEndian: Int32(values.isEmpty ? 0 : 1))
    bytes.append(bigEndian: Int32(1))
    bytes.append(bigEndian: kind.rawValue)
    if !values.isEmpty {
      bytes.append(bigEndian: Int32(values.count))
      bytes.append(bigEndian: Int32(1))
    }
    for value in values {
      guard let value else {
        bytes.append(bigEndian: Int32(-1))
        continue
      }
      let place = bytes.count
      bytes.append(bigEndian: Int32(0))
      write(&bytes, value)
      let length = Int32(bytes.count - place - 4)
      withUnsafeBytes(of: length.bigEndian) { length in
        for index in 0..<4 { bytes[place + index] = length[index] }
      }
    }
    ranges.append(start..<bytes.count)
  }
}

extension [UInt8] {
  fileprivate mutating func append(utf8 text: String) {
    var text = text
    text.withUTF8 { append(contentsOf: $0) }
  }

  fileprivate mutating func append(bigEndian number: some FixedWidthInteger) {
    Swift.withUnsafeBytes(of: number.bigEndian) { append(contentsOf: $0) }
  }
}
