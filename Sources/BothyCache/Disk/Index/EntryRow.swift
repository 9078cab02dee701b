internal import BothyStore
internal import Foundation
internal import GRDB
internal import GRDBSQLite

/// One entry in the index, with what its body's row says.
struct EntryRow {
  var number: Int64
  /// The row of the source.
  var source: Int64
  var name: ResourceKey.Name
  /// The place in the order of eviction, or 0 for a new one.
  var rank: Int64 = 0
  /// The time of the last use that was noted, or `nil` if none was.
  var used: Int64?
  var isPinned: Bool
  /// True if the entry counts the size of its bytes. Of entries that share bytes exactly one does.
  var bears = true
  /// The row of the metadata's frame, or `nil` without one.
  var frame: Int64?
  /// The bytes that the entry counts for itself.
  var own: Int64
  /// The row of the body and the bytes that it counts, or `nil` if the entry is in a file of its own.
  var body: (row: Int64, cost: Int64, isFile: Bool)?
  /// The size of the body alone.
  var size: Int64
  var checksum: UInt64
  /// The time at which the bytes came, for an entry in a file of its own.
  var receivedAt: Int64 = 0

  /// The bytes that the entry counts.
  var bytes: Int64 { own + (bears ? body?.cost ?? 0 : 0) }

  /// The columns that `init(_:)` reads, and where they come from.
  static let columns = """
    e.id, e.source, e.name, e.rank, e.used, e.pinned, e.bears, e.frame, e.bytes, length(e.metadata), e.body, b.size,
    b.checksum, b.page, CASE WHEN e.body IS NULL THEN e.metadata END
    """
  static let tables = "entry e LEFT JOIN body b ON b.id = e.body"
  /// The number of columns.
  static let columnCount: Int32 = 15

  /// The bytes that an entry counts, as an expression over `tables`.
  static let counted = """
    coalesce(e.bytes, length(e.metadata) + \(overhead) + e.bears * (\(bodyOverhead) + \
    CASE WHEN b.page IS NULL OR b.size > \(IndexTransaction.largestSmall)
    THEN (b.size + 4095) / 4096 * 4096 ELSE b.size + b.size / 16 END), 0)
    """
  private static let overhead: Int64 = 64
  private static let bodyOverhead: Int64 = 64

  /// Returns the bytes that an entry counts for itself beside its body.
  static func own(_ metadataSize: Int) -> Int64 { Int64(metadataSize) + overhead }

  /// Returns the bytes that a body counts: whole blocks, or a share of a page for a small one.
  static func cost(_ size: Int64, isFile: Bool) -> Int64 {
    let isWhole = isFile || size > IndexTransaction.largestSmall
    return (isWhole ? (size &+ 4095) / 4096 * 4096 : size + size / 16) &+ bodyOverhead
  }

  init(_ statement: PreparedStatement) {
    number = statement.int(at: 0)
    source = statement.int(at: 1)
    name = statement.name(at: 2)
    rank = statement.int(at: 3)
    used = statement.optionalInt(at: 4)
    isPinned = statement.int(at: 5) != 0
    bears = statement.int(at: 6) != 0
    frame = statement.optionalInt(at: 7)
    if let row = statement.optionalInt(at: 10) {
      let isFile = statement.isNull(at: 13)
      own = Self.own(Int(statement.int(at: 9)))
      size = statement.int(at: 11)
      checksum = UInt64(bitPattern: statement.int(at: 12))
      body = (row, Self.cost(size, isFile: isFile), isFile)
    } else {
      own = statement.int(at: 8)
      let note = FileNote(statement.blob(at: 14))
      size = note.size
      checksum = note.checksum
      receivedAt = note.receivedAt
    }
  }

  init(
    number: Int64, source: Int64, name: ResourceKey.Name, isPinned: Bool, own: Int64, size: Int64,
    checksum: UInt64
  ) {
    self.number = number
    self.source = source
    self.name = name
    self.isPinned = isPinned
    self.own = own
    self.size = size
    self.checksum = checksum
  }
}

/// The note in a row about an entry in a file of its own.
struct FileNote {
  var size: Int64
  var checksum: UInt64
  var receivedAt: Int64

  init(size: Int64, checksum: UInt64, receivedAt: Int64) {
    self.size = size
    self.checksum = checksum
    self.receivedAt = receivedAt
  }

  /// Reads a note. A damaged one is of an empty body, which no file matches.
  init(_ bytes: UnsafeRawBufferPointer) {
    var reader = ByteReader(bytes)
    size = reader.read(Int64.self) ?? 0
    checksum = reader.read(UInt64.self) ?? 0
    receivedAt = reader.read(Int64.self) ?? 0
  }

  var bytes: [UInt8] {
    var writer = ByteWriter()
    writer.write(size)
    writer.write(checksum)
    writer.write(receivedAt)
    return writer.bytes
  }
}

/// The place of a tile in the pyramid of all zooms, which SQLite stores in four bytes up to zoom 15.
enum TilePlace {
  private static let mask: UInt64 = (1 << 29) - 1

  /// Returns the place of a tile, or `nil` if its zoom has no such tile.
  static func number(_ bits: UInt64) -> Int64? {
    let (zoom, x, y) = ResourceKey.tile(of: bits)
    guard zoom <= 29, x >> zoom == 0, y >> zoom == 0 else { return nil }
    return Int64(first(zoom) + x << zoom + y)
  }

  /// Returns the bits of the tile at a place. A damaged place is that of some other tile.
  static func bits(_ number: Int64) -> UInt64 {
    let place = UInt64(bitPattern: number) & (1 << 60 - 1)
    let zoom = UInt64(63 - (3 * place + 1).leadingZeroBitCount) / 2
    let rest = place - first(zoom)
    return zoom << 58 | (rest >> zoom & mask) << 29 | rest & (1 << zoom - 1)
  }

  /// Returns the number of tiles at lower zooms.
  private static func first(_ zoom: UInt64) -> UInt64 { (1 << (2 * zoom) - 1) / 3 }
}

extension PreparedStatement {
  /// Returns the name in a column: a tile's place in the pyramid, the bytes of a tile outside of it, or a path.
  func name(at column: Int32) -> ResourceKey.Name {
    switch sqlite3_column_type(pointer, column) {
    case SQLITE_INTEGER: return .tile(TilePlace.bits(int(at: column)))
    case SQLITE_BLOB:
      var reader = ByteReader(blob(at: column))
      return .tile(reader.read(UInt64.self) ?? 0)
    default: return .path(text(at: column) ?? "")
    }
  }

  /// Returns the name in a column of format 1 or 2: the bits of a tile, or a path.
  func earlierName(at column: Int32) -> ResourceKey.Name {
    if sqlite3_column_type(pointer, column) == SQLITE_INTEGER {
      return .tile(UInt64(bitPattern: int(at: column)))
    }
    return .path(text(at: column) ?? "")
  }

  func bind(_ name: ResourceKey.Name, at parameter: Int32) {
    switch name {
    case .tile(let bits):
      if let place = TilePlace.number(bits) {
        bind(place, at: parameter)
      } else {
        bind(withUnsafeBytes(of: bits.littleEndian) { Data($0) }, at: parameter)
      }
    case .path(let path): path.withComposedUTF8 { bind(utf8: Array($0), at: parameter) }
    }
  }

  /// Returns the bytes of a blob without a copy. They are valid until the next step.
  func blob(at column: Int32) -> UnsafeRawBufferPointer {
    let start = sqlite3_column_blob(pointer, column)
    return UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
  }
}
