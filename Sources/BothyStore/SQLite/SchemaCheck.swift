import GRDB
import Synchronization

/// The check that no newer app has converted an open file.
final class SchemaCheck: Sendable {
  private let path: String
  private let version: Int
  /// SQLite's number of the tables and indexes for which the version of the schema was checked.
  private let checkedTables = Atomic<Int64>(-1)

  /// - Parameter version: The version of the schema that the file was opened with.
  init(path: String, version: Int) {
    self.path = path
    self.version = version
  }

  /// Throws `.newerFile` if another process has converted the file since. Rows by the old schema lack values that the new
  /// one needs, and those by the new schema have others than the old one reads. Costs a number from the file's header.
  func run(in database: Database) throws {
    let select = try PreparedStatement("PRAGMA schema_version", in: database)
    defer { select.reset() }
    guard try select.step() else { return }
    let tables = select.int(at: 0)
    guard tables != checkedTables.load(ordering: .relaxed) else { return }
    try Connections.checkSchema(database, knowing: version, path)
    checkedTables.store(tables, ordering: .relaxed)
  }
}
