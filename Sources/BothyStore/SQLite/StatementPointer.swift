internal import Foundation
internal import GRDBSQLite

/// Direct binds and column reads on a prepared statement: the hot path under every record.
///
/// The pointer belongs to a GRDB `Statement`, which the caller must keep alive.
extension OpaquePointer {
  /// The destructor that makes SQLite copy the bytes before the call returns (`SQLITE_TRANSIENT`).
  static var transient: sqlite3_destructor_type {
    unsafeBitCast(-1, to: sqlite3_destructor_type.self)
  }

  func bind(_ text: String, at parameter: Int32) -> Int32 {
    var text = text
    return text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { characters in
        guard let start = characters.baseAddress else {
          return sqlite3_bind_text(self, parameter, "", 0, Self.transient)
        }
        return sqlite3_bind_text64(
          self, parameter, start, UInt64(characters.count), Self.transient, UInt8(SQLITE_UTF8))
      }
    }
  }

  func bind(utf8 bytes: [UInt8], at parameter: Int32) -> Int32 {
    bytes.withUnsafeBytes { buffer in
      sqlite3_bind_text64(
        self, parameter, buffer.bindMemory(to: CChar.self).baseAddress, UInt64(buffer.count), Self.transient,
        UInt8(SQLITE_UTF8))
    }
  }

  func bind(_ data: Data, at parameter: Int32) -> Int32 {
    data.withUnsafeBytes { bytes in
      guard let start = bytes.baseAddress, !bytes.isEmpty else {
        return sqlite3_bind_zeroblob(self, parameter, 0)
      }
      return sqlite3_bind_blob64(self, parameter, start, UInt64(bytes.count), Self.transient)
    }
  }

  func text(at column: Int32) -> String? {
    guard let start = sqlite3_column_text(self, column) else { return nil }
    let count = Int(sqlite3_column_bytes(self, column))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func bytes(at column: Int32) -> [UInt8] {
    guard let start = sqlite3_column_text(self, column) else { return [] }
    return Array(UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(self, column))))
  }

  func data(at column: Int32) -> Data {
    guard let start = sqlite3_column_blob(self, column) else { return Data() }
    return Data(bytes: start, count: Int(sqlite3_column_bytes(self, column)))
  }
}
