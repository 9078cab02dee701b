/// A read-only SQL query, whose rows become values of a `Decodable` type. Interpolated values are bound, not pasted.
///
/// ```swift
/// struct Share: Decodable {
///   var title: String
///   var n: Int
/// }
///
/// let least = 2
/// let shares = SQLQuery(
///   "SELECT title, count(*) AS n FROM Todo GROUP BY title HAVING n >= \(least)", as: Share.self)
/// for try await some in store.values(of: shares) { show("\(some.count) titles") }
/// ```
///
/// The tables have the names of their types, and the columns those of the fields, with the id in `_id`. A property
/// takes the column of its name; an optional one is `nil` where the column is null or missing. Dates are stored as
/// milliseconds since 1970 and become a `Date`; whole numbers, text, bytes, UUIDs, enums and JSON become the types of
/// such fields. A reference is the id as text. A coordinate has two columns, with the suffixes `_lat` and `_lon`.
/// Stored natural sort keys have the prefix `_sort_`, for `ORDER BY _sort_title`. Sensitive fields are null. A type of
/// one value takes the first column: `as: Int.self`. Rows of all containers are read.
///
/// SQLite's authorizer decides what a text may do, at its first use in each open store. It may read the types' tables
/// and their indexes, and nothing else. `StoreOptions` can name queries that a debug build checks when a store opens.
///
/// An observation reads again after a commit that inserts or deletes records of a table that the query names, or that
/// changes one of the columns that it reads. Joins by `USING` or `NATURAL` count as reading all columns.
public struct SQLQuery<Row: Decodable & Sendable>: ReadRequest {
  private let text: SQLFragment
  /// The time after which a read is given up, so that an endless recursion ends.
  package var timeLimit: Duration = .seconds(10)

  /// Creates a query. Reads and checks nothing.
  ///
  /// - Parameters:
  ///   - text: One statement, which begins with `SELECT` or `WITH`.
  ///   - row: The type of the rows.
  public init(_ text: SQLText, as row: Row.Type) {
    self.text = text.fragment.withoutEnd
  }

  /// The steps by which a store reads the rows. A statement of ASCII is kept prepared, and all rows are in memory at
  /// once.
  ///
  /// The read throws `BothyError` `invalidQuery` for SQL that SQLite can't read, that writes, that is more than one
  /// statement, or that takes longer than ten seconds; also if a row lacks a column that its type needs. It throws
  /// `.invalidValue` if the value of a column isn't one of its property.
  public var plan: ReadTransaction.Plan<[Row]> {
    ReadTransaction.Plan(
      .sql(text.sql), ReadIdentity(words: [text.sql, String(reflecting: Row.self)], values: text.arguments)
    ) { [text, timeLimit] transaction, fingerprint in
      try SQLRows(text, in: transaction, within: timeLimit, &fingerprint).decoded(Row.self)
    }
  }
}

extension ReadableStore {
  /// Reads rows by SQL: `store.sql("SELECT title FROM Todo WHERE done = \(true)", as: String.self)`.
  ///
  /// Runs one statement off the caller's thread, in a transaction of its own. `SQLQuery` says what it may be, what it
  /// throws, and how rows are decoded. Observe a query by `values(of:)`.
  public func sql<Row: Decodable & Sendable>(_ text: SQLText, as row: Row.Type) async throws -> [Row] {
    try await fetch(SQLQuery(text, as: row))
  }
}

/// SQL text with bound values: `"SELECT * FROM Todo WHERE title = \(title)"`.
///
/// ```swift
/// let title = "Buy rope"
/// let done = try await store.sql("SELECT done FROM Todo WHERE title = \(title)", as: Bool.self)
/// ```
///
/// Values of the types of fields can be interpolated. Names of tables and columns can't; write them in the text.
public struct SQLText: Sendable, ExpressibleByStringInterpolation, StringInterpolationProtocol {
  private(set) var fragment: SQLFragment

  /// Creates a text without values.
  public init(stringLiteral value: String) { fragment = SQLFragment(value) }
  /// Creates a text with a `?` in the place of each value, and with `?, ?` in that of a coordinate.
  public init(stringInterpolation: SQLText) { self = stringInterpolation }
  /// Creates an empty text with room for its literals and one `?` a value. The compiler calls it, and what follows.
  public init(literalCapacity: Int, interpolationCount: Int) {
    fragment = SQLFragment("")
    fragment.sql.reserveCapacity(literalCapacity + interpolationCount)
  }

  /// Adds SQL as it is written.
  public mutating func appendLiteral(_ literal: String) { fragment += literal }

  /// Binds the value at its place in the SQL.
  ///
  /// Dates are bound as milliseconds since 1970, UUIDs as lower-case text, references as their id, `nil` as null.
  /// A coordinate is bound as two values, its latitude and its longitude: `(place_lat, place_lon) = (\(here))`. An
  /// optional one that is `nil` is two nulls.
  public mutating func appendInterpolation<Value: FieldConvertible>(_ value: Value?) {
    // The parameter is optional, because otherwise the compiler warns about each optional value.
    let stored = value?.fieldValue ?? .null
    let isPlace = Value.fieldKind.isCoordinate
    fragment += SQLFragment(isPlace ? "?, ?" : "?", isPlace && stored.isNull ? [stored, stored] : [stored])
  }
}

extension SQLFragment {
  /// The fragment without the semicolon at its end, after which a connection's mark of a query would be a statement.
  fileprivate var withoutEnd: SQLFragment {
    var fragment = self
    while let last = fragment.sql.last, last == ";" || last.isWhitespace { fragment.sql.removeLast() }
    return fragment
  }
}
