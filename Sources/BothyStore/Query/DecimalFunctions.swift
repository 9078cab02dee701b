import Foundation
import GRDB
import GRDBSQLite

/// The SQL functions that add up decimals exactly, whatever the order of the rows.
///
/// - `bothy_decimal_sum(text)`: the text of the sum, that of 0 without values.
/// - `bothy_decimal_average(text)`: the mean as a number, or null without values.
///
/// Null counts as no value. Text that isn't a decimal is an error, because a sum without it is wrong.
enum DecimalFunctions {
  static let sum = "bothy_decimal_sum"
  static let average = "bothy_decimal_average"

  /// Returns the function that adds up fields of a Swift type, or computes their mean.
  static func name<Value>(averaging isAverage: Bool = false, _: Value.Type) -> String {
    guard Value.self == Decimal.self else { return isAverage ? "avg" : "sum" }
    return isAverage ? average : sum
  }

  static func install(in connection: SQLiteConnection?) {
    let flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS
    sqlite3_create_function_v2(
      connection, sum, 1, flags, nil, nil, { DecimalFunctions.step($0, $2) },
      { DecimalFunctions.finishSum($0) }, nil)
    sqlite3_create_function_v2(
      connection, average, 1, flags, nil, nil, { DecimalFunctions.step($0, $2) },
      { DecimalFunctions.finishAverage($0) }, nil)
  }

  /// Returns the memory of one computation: the limbs of the sum, and behind them the number of values. SQLite fills it
  /// with zeros. Nil without memory, and for an answer without values.
  private static func state(_ context: OpaquePointer?, isStep: Bool) -> UnsafeMutableBufferPointer<Int64>? {
    let count = DecimalTotal.count + 1
    let size = isStep ? Int32(count * MemoryLayout<Int64>.stride) : 0
    guard let start = sqlite3_aggregate_context(context, size) else { return nil }
    return UnsafeMutableBufferPointer(start: start.bindMemory(to: Int64.self, capacity: count), count: count)
  }

  private static func step(_ context: OpaquePointer?, _ values: UnsafeMutablePointer<OpaquePointer?>?) {
    guard let values, sqlite3_value_type(values[0]) != SQLITE_NULL else { return }
    guard let memory = state(context, isStep: true) else { return sqlite3_result_error_nomem(context) }
    let limbs = UnsafeMutableBufferPointer(rebasing: memory[..<DecimalTotal.count])
    guard let start = sqlite3_value_text(values[0]),
      let number = DecimalDigits(
        stored: UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(values[0])))),
      DecimalTotal.add(number, to: limbs)
    else {
      return sqlite3_result_error(context, "A value isn't a decimal and can't be added up.", -1)
    }
    memory[DecimalTotal.count] += 1
  }

  private static func finishSum(_ context: OpaquePointer?) {
    let limbs = state(context, isStep: false)?.prefix(DecimalTotal.count)
    var text = DecimalTotal.digits(of: limbs.map { Array($0) } ?? DecimalTotal.zero).stored
    text.withUTF8 { utf8 in
      utf8.withMemoryRebound(to: CChar.self) { characters in
        sqlite3_result_text64(
          context, characters.baseAddress, UInt64(characters.count), OpaquePointer.transient,
          UInt8(SQLITE_UTF8))
      }
    }
  }

  private static func finishAverage(_ context: OpaquePointer?) {
    guard let memory = state(context, isStep: false), memory[DecimalTotal.count] > 0 else {
      return sqlite3_result_null(context)
    }
    let sum = DecimalTotal.digits(of: memory.prefix(DecimalTotal.count))
    let size = (Double(sum.magnitude) ?? 0) / Double(memory[DecimalTotal.count])
    sqlite3_result_double(context, sum.isNegative ? -size : size)
  }
}
