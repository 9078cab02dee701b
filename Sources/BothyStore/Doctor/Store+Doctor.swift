import Foundation
import GRDB

/// Examining a store and mending what can be made again.
extension Store {
  /// Examines the file, the tables, the rows, the text index, the indexes of places and the
  /// reference index. Changes nothing.
  ///
  /// Reads the whole file, some seconds a gigabyte, on the calling thread; holds the writer while it does. A
  /// damaged part is a finding, not an error; throws only when the store is closed.
  public func diagnose() throws -> StoreDiagnosis { try diagnose(with: []) }

  /// The same with checks of other modules.
  package func diagnose(with checks: [any StoreCheck]) throws -> StoreDiagnosis {
    do {
      return try connections.writer.writeWithoutTransaction { database in
        var examination = Examination(database: database, schema: schema)
        // Asking the text index whether it is sound is a write to SQLite, so all of it is rolled back.
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
    } catch { throw StoreError(error, path: path) }
  }

  private var damageFindings: [StoreDiagnosis.Finding] {
    damagedFiles.map { file in
      StoreDiagnosis.Finding(
        .warning, check: "file",
        "\(file) was damaged and set aside; it may hold work that was never sent, and records that were never synced.",
        remedy:
          "Get them out with `bothy db salvage`, or `SyncedStore.salvage`, or say there that they are not wanted."
      )
    }
  }

  /// Examines a file that may be too damaged to open as a store. Read-only; the text index is not compared with
  /// the rows. Throws `.cannotOpen` or `.notADatabase` when there is nothing to examine.
  public static func diagnose(fileAt path: String) throws -> StoreDiagnosis {
    guard FileManager.default.fileExists(atPath: path) else {
      throw StoreError(.cannotOpen, "There is no database at \(path).")
    }
    do {
      // Not in a transaction: ending one on a damaged file may fail, and with it the examination.
      return try Connections.inspecting(path) { database in
        var examination = Examination(database: database, schema: StoreSchema(types: []))
        do {
          guard let stored = try SchemaInstaller.stored(in: database) else {
            throw StoreError(.notADatabase, "\(path) is not a Bothy database: it carries no schema.")
          }
          examination = Examination(database: database, schema: stored)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
          examination.found(.error, "file", "The schema can't be read: \(error).", "Restore a backup.")
        }
        examination.run(includingText: false)
        return StoreDiagnosis(findings: examination.findings)
      }
    } catch let error as DatabaseError where error.resultCode == .SQLITE_CORRUPT {
      // Not even the list of tables can be read.
      return StoreDiagnosis(findings: [
        .init(
          .error, check: "file", "The list of tables can't be read: \(error).", remedy: "Restore a backup.")
      ])
    } catch { throw StoreError(error, path: path) }
  }

  /// Makes again what a diagnosis found broken and repairable: indexes, the text index, the indexes of places, the index of list
  /// references. Rows are never changed. One transaction; returns what a new diagnosis finds.
  @discardableResult
  public func repair(_ diagnosis: StoreDiagnosis) throws -> StoreDiagnosis {
    do {
      try connections.writer.write { database in
        for repair in Set(diagnosis.findings.compactMap(\.repair)) { try apply(repair, database) }
      }
    } catch { throw StoreError(error, path: path) }
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
      try database.execute(sql: Examination.strayLinks(schema, "DELETE"))
    }
  }
}
