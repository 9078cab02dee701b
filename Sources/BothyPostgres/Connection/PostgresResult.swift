import CPostgres

/// The rows of a statement, in PostgreSQL's binary formats. Used only on the thread of its connection.
final class PostgresResult {
  private let handle: OpaquePointer

  /// Takes ownership of a result of libpq.
  init(owning handle: OpaquePointer) { self.handle = handle }

  deinit { PQclear(handle) }

  var status: ExecStatusType { PQresultStatus(handle) }

  /// The SQLSTATE and the message of an error result.
  var failure: PostgresFailure {
    let code = PQresultErrorField(handle, Int32(UInt8(ascii: "C"))).map { String(cString: $0) }
    let primary = PQresultErrorField(handle, Int32(UInt8(ascii: "M"))).map { String(cString: $0) }
    let routine = PQresultErrorField(handle, Int32(UInt8(ascii: "R"))).map { String(cString: $0) }
    let whole = PQresultErrorMessage(handle).map { String(cString: $0) } ?? ""
    return PostgresFailure(code: code, message: primary ?? whole.trimmingNewlines, routine: routine)
  }

  var count: Int { Int(PQntuples(handle)) }
  /// The number of rows that a statement changed, or 0 for one that changes none.
  var changedCount: Int { PQcmdTuples(handle).flatMap { Int(String(cString: $0)) } ?? 0 }
  var columnCount: Int32 { PQnfields(handle) }

  func isNull(_ row: Int, _ column: Int32) -> Bool { PQgetisnull(handle, Int32(row), column) != 0 }

  func optionalInt(_ row: Int, _ column: Int32) -> Int64? {
    isNull(row, column) ? nil : int(row, column)
  }

  func int(_ row: Int, _ column: Int32) -> Int64 {
    let bytes = raw(row, column)
    if bytes.count == 8 { return Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)) }
    var number: Int64 = 0
    for byte in bytes { number = number << 8 | Int64(byte) }
    return number
  }

  func bool(_ row: Int, _ column: Int32) -> Bool { raw(row, column).first == 1 }

  func text(_ row: Int, _ column: Int32) -> String? {
    let bytes = raw(row, column)
    return bytes.isEmpty && isNull(row, column) ? nil : String(decoding: bytes, as: UTF8.self)
  }

  /// Returns the bytes of a text column.
  func bytes(_ row: Int, _ column: Int32) -> [UInt8] { Array(raw(row, column)) }

  private func raw(_ row: Int, _ column: Int32) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(
      start: PQgetvalue(handle, Int32(row), column), count: Int(PQgetlength(handle, Int32(row), column)))
  }
}

extension String {
  var trimmingNewlines: String {
    var text = self
    while text.last?.isNewline ?? false { text.removeLast() }
    return text
  }
}
