import Foundation
import GRDB

/// Checking a store and repairing the parts that can be recreated.
extension LocalStore {
  /// Checks the file, the tables, the rows, the text index, the indexes of places and the reference index. Changes
  /// nothing.
  ///
  /// Reads the whole file, some seconds a gigabyte, on the calling thread, and holds the writer meanwhile. Damage is a
  /// finding, not an error. Throws only if the store is closed.
  ///
  /// Reads go on meanwhile, and writes wait. Call it on a thread that may block, not on the main actor.
  package func diagnose() throws -> StoreDiagnosis { try diagnose(with: []) }

  /// Like `diagnose()`, but also runs the checks of other modules.
  package func diagnose(with checks: [any StoreCheck]) throws -> StoreDiagnosis {
    do {
      return try connections.writer.writeWithoutTransaction { database in
        var examination = StoreVerifier(database: database, schema: schema)
        // The check of the text index is a write to SQLite, so all of it is rolled back.
        try database.inTransaction(.deferred) {
          examination.run(includingText: true)
          let transaction = ReadTransaction(database, catalog)
          for check in checks {
            examination.attempt("\(type(of: check))") { try $0.findings += check.findings(in: transaction) }
          }
          return .rollback
        }
        return StoreDiagnosis(findings: damageFindings + examination.findings)
      }
    } catch { throw BothyError(error, path: path) }
  }

  private var damageFindings: [StoreDiagnosis.Finding] {
    damagedFiles.map { file in
      StoreDiagnosis.Finding(
        .warning, check: "file",
        "\(file) was damaged and is quarantined. It may have changes and records that were never sent.",
        remedy:
          "Get them out with `bothy db salvage`, or `StoreMaintenance.salvage`, or say there that they are not wanted."
      )
    }
  }

  /// Checks a file that may be too damaged to open as a store. Read-only. The text index isn't compared with the rows.
  /// Throws `cannotOpen` or `notADatabase` if the file can't be checked at all.
  package static func diagnose(fileAt path: String) throws -> StoreDiagnosis {
    guard FileManager.default.fileExists(atPath: path) else {
      throw BothyError(.cannotOpen, "No database exists at \(path).")
    }
    do {
      // Runs without a transaction: ending one on a damaged file may fail, and the check with it.
      return try Connections.inspecting(path) { database in
        var examination = StoreVerifier(database: database, schema: StoreSchema(types: []))
        do {
          guard let stored = try SchemaInstaller.stored(in: database) else {
            throw BothyError(.notADatabase, "\(path) is not a Bothy database: it carries no schema.")
          }
          examination = StoreVerifier(database: database, schema: stored)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
          examination.found(.error, "file", "The schema can't be read: \(error).", "Restore a backup.")
        }
        examination.run(includingText: false)
        return StoreDiagnosis(findings: examination.findings)
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      // The list of tables can't be read.
      return StoreDiagnosis(findings: [
        .init(
          .error, check: "file", "The list of tables can't be read: \(error).", remedy: "Restore a backup.")
      ])
    } catch { throw BothyError(error, path: path) }
  }

  /// Recreates the broken parts that a diagnosis found to be repairable: indexes, the text index, the indexes of
  /// places, the index of list references. Never changes records. Runs in one transaction and returns the findings of a
  /// new diagnosis. Throws `BothyError` `.newerFile` if a newer app has converted the file since it was opened.
  @discardableResult
  package func repair(_ diagnosis: StoreDiagnosis) throws -> StoreDiagnosis {
    do {
      try connections.writer.write { database in
        try connections.schemaCheck?.run(in: database)
        for repair in Set(diagnosis.findings.compactMap(\.repair)) { try apply(repair, database) }
      }
    } catch { throw BothyError(error, path: path) }
    notices.post(.everything(tableCount: catalog.tables.count))
    return try diagnose()
  }

  private func apply(_ repair: StoreDiagnosis.Finding.Repair, _ database: Database) throws {
    switch repair {
    case .reindex: try database.execute(sql: "REINDEX")
    case .indexes(let name):
      guard let type = schema[name] else { return }
      let installer = SchemaInstaller(database: database)
      try installer.dropIndexes(of: type)
      try installer.createIndexes(of: type)
    case .links(let type, let name):
      guard let field = schema[type]?[name] else { return }
      try LinkIndex(database: database).rebuild(type: type, field: field)
    case .strayLinks:
      try database.execute(sql: StoreVerifier.strayLinks(schema, "DELETE"))
    }
  }
}
