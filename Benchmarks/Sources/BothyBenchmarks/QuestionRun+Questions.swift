import Bars
import BothyStore
import GRDBSQLite

/// The questions, in the words of an app and in SQL on SQLite's C API.
extension QuestionRun {
  /// A row of the join in SQL.
  private struct Busy: Decodable, Sendable {
    var name: String
    var nights: Int
    var guests: Int
  }

  static func questions(_ connection: Connection) throws -> [Question] {
    try sums(connection) + joins(connection) + sql(connection)
  }

  private static func sums(_ connection: Connection) throws -> [Question] {
    let sum = try connection.prepare("SELECT sum(guests) FROM Night WHERE year >= ?")
    let groups = try connection.prepare(
      "SELECT year, avg(guests) FROM Night GROUP BY year HAVING avg(guests) > ? ORDER BY year")
    let pairs = try connection.prepare("SELECT note, guests FROM Night WHERE year = ? ORDER BY _id")
    return [
      Question(name: "sum", limit: 1.3) { transaction in
        try transaction.fetch(Night.where { $0.year >= 2005 }.sum(\.guests))
      } byHand: {
        sqlite3_bind_int64(sum, 1, 2005)
        return try sum.rows { Int(sqlite3_column_int64(sum, 0)) }.total { $0 }
      },
      Question(name: "means of groups", limit: 1.3) { transaction in
        let found = try transaction.fetch(
          Night.all.group(by: \.year).average(\.guests, having: { $0 > 7 }))
        return found.total { $0.key + Int($0.value ?? 0) }
      } byHand: {
        sqlite3_bind_double(groups, 1, 7)
        return try groups.rows { (Int(sqlite3_column_int64(groups, 0)), sqlite3_column_double(groups, 1)) }
          .total { $0.0 + Int($0.1) }
      },
      Question(name: "two fields", limit: 1.3) { transaction in
        let found = try transaction.fetch(Night.where { $0.year == 2003 }.select(\.note, \.guests))
        return found.total { $0.0.utf8.count + $0.1 }
      } byHand: {
        sqlite3_bind_int64(pairs, 1, 2003)
        return try pairs.rows { (pairs.text(0), Int(sqlite3_column_int64(pairs, 1))) }
          .total { $0.0.utf8.count + $0.1 }
      },
    ]
  }

  private static func joins(_ connection: Connection) throws -> [Question] {
    let parents = try connection.prepare(
      """
      SELECT Night._id, hut, year, guests, note, name, beds FROM Night JOIN Hut ON Hut._id = Night.hut
      WHERE year = ? ORDER BY Night._id
      """)
    let huts = try connection.prepare("SELECT _id, name, beds FROM Hut ORDER BY _id")
    let nights = try connection.prepare(
      "SELECT _id, hut, year, guests, note FROM Night WHERE year >= ? ORDER BY _id")
    let counts = try connection.prepare(
      """
      SELECT _id, name, beds, (SELECT count(*) FROM Night WHERE hut = Hut._id AND year >= ?) FROM Hut ORDER BY _id
      """)
    return [
      Question(name: "children with parent", limit: 1.3) { transaction in
        let found = try transaction.fetch(Night.where { $0.year == 2003 }.with(\.hut))
        return found.total { $0.guests + $0.related.beds }
      } byHand: {
        sqlite3_bind_int64(parents, 1, 2003)
        return try parents.rows { (parents.night, parents.hut(at: 5, id: parents.text(1))) }
          .total { $0.0.guests + $0.1.beds }
      },
      Question(name: "parents with children", limit: 1.3) { transaction in
        let found = try transaction.fetch(Hut.all.with(Night.where { $0.year >= 2020 }, by: \.hut))
        return found.total { $0.beds + $0.related.total(\.guests) }
      } byHand: {
        sqlite3_bind_int64(nights, 1, 2020)
        let children = Dictionary(grouping: try nights.rows { nights.night }) { $0.hut.id }
        return try huts.rows { huts.hut(at: 1, id: huts.text(0)) }
          .total { $0.beds + (children[$0.id] ?? []).total(\.guests) }
      },
      Question(name: "parents with counts", limit: 1.3) { transaction in
        let found = try transaction.fetch(Hut.all.withCount(of: Night.where { $0.year >= 2020 }, by: \.hut))
        return found.total { $0.beds + $0.related }
      } byHand: {
        sqlite3_bind_int64(counts, 1, 2020)
        return try counts.rows {
          (counts.hut(at: 1, id: counts.text(0)), Int(sqlite3_column_int64(counts, 3)))
        }
        .total { $0.0.beds + $0.1 }
      },
    ]
  }

  private static func sql(_ connection: Connection) throws -> [Question] {
    let text = """
      SELECT name, count(*) AS nights, sum(guests) AS guests FROM Hut JOIN Night ON Night.hut = Hut._id
      WHERE year >= ? GROUP BY Hut._id ORDER BY Hut._id
      """
    let busy = try connection.prepare(text)
    let names = try connection.prepare("SELECT note FROM Night WHERE year = ? ORDER BY _id")
    return [
      Question(name: "SQL, a join in groups", limit: 1.15) { transaction in
        let found = try transaction.fetch(
          SQLQuery(
            """
            SELECT name, count(*) AS nights, sum(guests) AS guests FROM Hut JOIN Night ON Night.hut = Hut._id
            WHERE year >= \(2005) GROUP BY Hut._id ORDER BY Hut._id
            """, as: Busy.self)
        )
        return found.total { $0.name.utf8.count + $0.nights + $0.guests }
      } byHand: {
        sqlite3_bind_int64(busy, 1, 2005)
        return try busy.rows {
          Busy(
            name: busy.text(0), nights: Int(sqlite3_column_int64(busy, 1)),
            guests: Int(sqlite3_column_int64(busy, 2)))
        }.total { $0.name.utf8.count + $0.nights + $0.guests }
      },
      Question(name: "SQL, texts", limit: 1.15) { transaction in
        let found = try transaction.fetch(
          SQLQuery("SELECT note FROM Night WHERE year = \(2003) ORDER BY _id", as: String.self)
        )
        return found.total { $0.utf8.count }
      } byHand: {
        sqlite3_bind_int64(names, 1, 2003)
        return try names.rows { names.text(0) }.total { $0.utf8.count }
      },
    ]
  }
}

extension OpaquePointer {
  /// Returns a value of each row, and resets the statement.
  fileprivate func rows<Value>(_ value: () -> Value) throws -> [Value] {
    defer { sqlite3_reset(self) }
    var values: [Value] = []
    while true {
      switch sqlite3_step(self) {
      case SQLITE_ROW: values.append(value())
      case SQLITE_DONE: return values
      case let code: throw BenchmarkError("A question failed with code \(code).")
      }
    }
  }

  /// The night of a row, whose first columns are its id and its fields.
  fileprivate var night: Night {
    Night(
      id: text(0), hut: Reference(id: text(1)), year: Int(sqlite3_column_int64(self, 2)),
      guests: Int(sqlite3_column_int64(self, 3)), note: text(4))
  }

  fileprivate func hut(at column: Int32, id: String) -> Hut {
    Hut(id: id, name: text(column), beds: Int(sqlite3_column_int64(self, column + 1)))
  }
}

extension Array {
  /// Returns the sum of a number of each element.
  fileprivate func total(_ number: (Element) -> Int) -> Int {
    var sum = 0
    for element in self { sum += number(element) }
    return sum
  }
}
