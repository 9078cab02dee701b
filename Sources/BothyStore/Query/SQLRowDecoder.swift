/// Decodes one row of a SQL query or of a selection: each property from the column of its name.
struct SQLRowDecoder: Decoder {
  let columns: [String: Int]
  let cells: [SQLCell]
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    KeyedDecodingContainer(Columns<Key>(row: self))
  }

  func unkeyedContainer() throws -> any UnkeyedDecodingContainer {
    throw BothyError(.invalidQuery, "A row is no list. Decode it into a struct.")
  }

  /// The first column, for a type of one value.
  func singleValueContainer() throws -> any SingleValueDecodingContainer {
    SQLColumnDecoder(column: first)
  }

  /// The first column. Every row has one.
  var first: SQLColumn { SQLColumn(name: "number 1", cell: cells.first ?? .null) }

  fileprivate func column(_ key: some CodingKey) throws -> SQLColumn {
    guard let position = columns[key.stringValue] else {
      let known = columns.keys.sorted().joined(separator: ", ")
      throw BothyError(
        .invalidQuery,
        "There is no column '\(key.stringValue)'. There are: \(known). Select the field, or name it with AS in SQL."
      )
    }
    return SQLColumn(name: key.stringValue, cell: cells[position])
  }

  /// The columns by the names of properties.
  private struct Columns<Key: CodingKey>: KeyedDecodingContainerProtocol {
    let row: SQLRowDecoder
    var codingPath: [any CodingKey] { [] }
    var allKeys: [Key] { row.columns.keys.compactMap { Key(stringValue: $0) } }

    func contains(_ key: Key) -> Bool { row.columns[key.stringValue] != nil }
    func decodeNil(forKey key: Key) throws -> Bool { try row.column(key).cell.isNull }
    func decode(_ type: Bool.Type, forKey key: Key) throws -> Bool { try row.column(key).decoded(type) }
    func decode(_ type: String.Type, forKey key: Key) throws -> String { try row.column(key).decoded(type) }
    func decode(_ type: Double.Type, forKey key: Key) throws -> Double { try row.column(key).decoded(type) }
    func decode(_ type: Float.Type, forKey key: Key) throws -> Float { try row.column(key).decoded(type) }
    func decode(_ type: Int.Type, forKey key: Key) throws -> Int { try row.column(key).decoded(type) }
    func decode(_ type: Int8.Type, forKey key: Key) throws -> Int8 { try row.column(key).decoded(type) }
    func decode(_ type: Int16.Type, forKey key: Key) throws -> Int16 { try row.column(key).decoded(type) }
    func decode(_ type: Int32.Type, forKey key: Key) throws -> Int32 { try row.column(key).decoded(type) }
    func decode(_ type: Int64.Type, forKey key: Key) throws -> Int64 { try row.column(key).decoded(type) }
    func decode(_ type: UInt.Type, forKey key: Key) throws -> UInt { try row.column(key).decoded(type) }
    func decode(_ type: UInt8.Type, forKey key: Key) throws -> UInt8 { try row.column(key).decoded(type) }
    func decode(_ type: UInt16.Type, forKey key: Key) throws -> UInt16 { try row.column(key).decoded(type) }
    func decode(_ type: UInt32.Type, forKey key: Key) throws -> UInt32 { try row.column(key).decoded(type) }
    func decode(_ type: UInt64.Type, forKey key: Key) throws -> UInt64 { try row.column(key).decoded(type) }
    func decode<Value: Decodable>(_ type: Value.Type, forKey key: Key) throws -> Value {
      try row.column(key).decoded(type)
    }

    func nestedContainer<Nested: CodingKey>(
      keyedBy type: Nested.Type, forKey key: Key
    ) throws -> KeyedDecodingContainer<Nested> {
      let column = try row.column(key)
      throw column.mismatch("a row of its own")
    }

    func nestedUnkeyedContainer(forKey key: Key) throws -> any UnkeyedDecodingContainer {
      let column = try row.column(key)
      throw column.mismatch("a list of rows")
    }

    func superDecoder() throws -> any Decoder { row }
    func superDecoder(forKey key: Key) throws -> any Decoder { SQLColumnDecoder(column: try row.column(key)) }
  }
}

/// One column of a row.
struct SQLColumn {
  let name: String
  let cell: SQLCell

  /// Returns the value as a type of fields, as a type of one value, or from JSON.
  func decoded<Value: Decodable>(_ type: Value.Type) throws -> Value {
    if let field = type as? any FieldConvertible.Type, let value = try decoded(field: field) as? Value {
      return value
    }
    do { return try Value(from: SQLColumnDecoder(column: self)) } catch is SQLColumnDecoder.HasParts {
      guard case .text(let text) = cell else { throw mismatch("JSON") }
      do { return try JSONFieldCoding.decode(type, from: text) } catch {
        throw mismatch("JSON of a \(type)", error)
      }
    } catch let error as DecodingError { throw mismatch("a \(type)", error) }
  }

  private func decoded<Field: FieldConvertible>(field: Field.Type) throws -> Field {
    let value = cell.value(Field.fieldKind.value)
    if value.isNull && !cell.isNull || cell.isNull && !(field is any OptionalField.Type) {
      throw mismatch(Field.fieldKind.value.phrase)
    }
    var decoder = FieldDecoder(values: [value], type: "SQL")
    return try Field(fromField: &decoder)
  }

  fileprivate func number<Number: FixedWidthInteger>(_ type: Number.Type) throws -> Number {
    guard case .int(let wide) = cell, let number = Number(exactly: wide) else {
      throw mismatch("a whole number from \(Number.min) to \(Number.max)")
    }
    return number
  }

  fileprivate func mismatch(_ wanted: String, _ cause: (any Error)? = nil) -> BothyError {
    let reason =
      cell.isNull ? "is null. Make the property optional, or use coalesce in SQL." : "isn't \(wanted)."
    return BothyError(.invalidValue, "The column '\(name)' \(reason)", underlying: cause)
  }
}

/// Decodes a type of one value, such as an enum, from one column. Others ask for parts, and are decoded from JSON.
private struct SQLColumnDecoder: Decoder, SingleValueDecodingContainer {
  /// The error of a type that asks for parts.
  struct HasParts: Error {}

  let column: SQLColumn
  var codingPath: [any CodingKey] { [] }
  var userInfo: [CodingUserInfoKey: Any] { [:] }

  func container<Key: CodingKey>(keyedBy type: Key.Type) throws -> KeyedDecodingContainer<Key> {
    throw HasParts()
  }
  func unkeyedContainer() throws -> any UnkeyedDecodingContainer { throw HasParts() }
  func singleValueContainer() throws -> any SingleValueDecodingContainer { self }

  func decodeNil() -> Bool { column.cell.isNull }
  func decode(_ type: Bool.Type) throws -> Bool { try column.decoded(type) }
  func decode(_ type: String.Type) throws -> String { try column.decoded(type) }
  func decode(_ type: Double.Type) throws -> Double { try column.decoded(type) }
  func decode(_ type: Float.Type) throws -> Float { Float(try column.decoded(Double.self)) }
  func decode(_ type: Int.Type) throws -> Int { try column.decoded(type) }
  func decode(_ type: Int8.Type) throws -> Int8 { try column.number(type) }
  func decode(_ type: Int16.Type) throws -> Int16 { try column.number(type) }
  func decode(_ type: Int32.Type) throws -> Int32 { try column.number(type) }
  func decode(_ type: Int64.Type) throws -> Int64 { try column.number(type) }
  func decode(_ type: UInt.Type) throws -> UInt { try column.number(type) }
  func decode(_ type: UInt8.Type) throws -> UInt8 { try column.number(type) }
  func decode(_ type: UInt16.Type) throws -> UInt16 { try column.number(type) }
  func decode(_ type: UInt32.Type) throws -> UInt32 { try column.number(type) }
  func decode(_ type: UInt64.Type) throws -> UInt64 { try column.number(type) }
  func decode<Value: Decodable>(_ type: Value.Type) throws -> Value { try column.decoded(type) }
}
