internal import BothyStore
internal import GRDB
internal import GRDBSQLite

/// One entry in the index.
struct EntryRow {
  var number: Int64
  /// The row of the source.
  var source: Int64
  var name: ResourceKey.Name
  /// The bytes that the entry counts.
  var bytes: Int64
  var rank: Int64 = 0
  var used: Int64
  var received: Int64
  var isPinned: Bool
  /// The size of the body alone.
  var size: Int64
  var checksum: UInt64
  /// The row of the body, or `nil` if the entry is in a file of its own.
  var body: Int64?

  static let columns = "id, source, name, bytes, rank, used, received, pinned, size, checksum, body"

  init(_ statement: PreparedStatement) {
    number = statement.int(at: 0)
    source = statement.int(at: 1)
    name = statement.name(at: 2)
    bytes = statement.int(at: 3)
    rank = statement.int(at: 4)
    used = statement.int(at: 5)
    received = statement.int(at: 6)
    isPinned = statement.int(at: 7) != 0
    size = statement.int(at: 8)
    checksum = UInt64(bitPattern: statement.int(at: 9))
    body = statement.isNull(at: 10) ? nil : statement.int(at: 10)
  }

  init(
    number: Int64, source: Int64, name: ResourceKey.Name, bytes: Int64, used: Int64, received: Int64,
    isPinned: Bool,
    size: Int64, checksum: UInt64, body: Int64?
  ) {
    self.number = number
    self.source = source
    self.name = name
    self.bytes = bytes
    self.used = used
    self.received = received
    self.isPinned = isPinned
    self.size = size
    self.checksum = checksum
    self.body = body
  }
}

extension PreparedStatement {
  /// Returns the name in a column: a number for a tile, and a text for a path.
  func name(at column: Int32) -> ResourceKey.Name {
    if sqlite3_column_type(pointer, column) == SQLITE_INTEGER {
      return .tile(UInt64(bitPattern: int(at: column)))
    }
    return .path(text(at: column) ?? "")
  }

  func bind(_ name: ResourceKey.Name, at parameter: Int32) {
    switch name {
    case .tile(let bits): bind(Int64(bitPattern: bits), at: parameter)
    case .path(let path): path.withComposedUTF8 { bind(utf8: Array($0), at: parameter) }
    }
  }

  /// Returns the bytes of a blob without a copy. They are valid until the next step.
  func blob(at column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }
}
