/// The records that a value depends on. A commit that touches none of them can't change the value.
package struct ObservationRegion: Sendable, Hashable {
  private enum Part: Sendable, Hashable {
    case everything
    case outbox
    case types([String])
    case records([RecordID])
    case settings(RecordID?)
    case sql(String)
  }

  private let part: Part

  private init(_ part: Part) { self.part = part }

  /// Any record of any type.
  package static var everything: ObservationRegion { ObservationRegion(.everything) }

  /// Any record, and decisions about pending changes.
  package static var outbox: ObservationRegion { ObservationRegion(.outbox) }

  /// Returns the region of any record of the named types.
  package static func types(_ names: String...) -> ObservationRegion { ObservationRegion(.types(names)) }

  /// Returns the region of any record of the named types.
  package static func types(_ names: [String]) -> ObservationRegion { ObservationRegion(.types(names)) }

  /// Returns the region of the records with these ids.
  package static func records(_ ids: RecordID...) -> ObservationRegion { ObservationRegion(.records(ids)) }

  /// Returns the region of the settings stored in the file, and of the record that holds some of them.
  package static func settings(and record: RecordID?) -> ObservationRegion {
    ObservationRegion(.settings(record))
  }

  /// Returns the region of the tables and columns that a SQL query reads.
  static func sql(_ sql: String) -> ObservationRegion { ObservationRegion(.sql(sql)) }

  func isTouched(by touched: TouchedRecords, _ catalog: Catalog) -> Bool {
    switch part {
    case .everything: touched.hasRecords
    case .outbox: touched.hasRecords || touched.bookkeeping
    case .types(let names):
      names.contains { name in catalog.tableIfKnown(name).map { touched.touches($0.index) } ?? false }
    case .settings(let record):
      touched.settings
        || record.map { ObservationRegion.records($0).isTouched(by: touched, catalog) } ?? false
    case .sql(let sql): catalog.sql.isTouched(sql, by: touched)
    case .records(let ids):
      ids.contains { id in catalog.tableIfKnown(id.type).map { touched.touches($0.index, id.id) } ?? false }
    }
  }
}
