import BothyStore

/// The version of a storage's tables, which is the number of steps that were run.
package struct TableVersion: Sendable, Hashable {
  /// The number of steps that were run, 0 without tables.
  package var version: Int
  /// The number of steps that a server must know to use the tables.
  package var oldest: Int

  package init(version: Int, oldest: Int) {
    self.version = version
    self.oldest = oldest
  }

  /// The uses of the tables that a server may make.
  package enum Verdict: Sendable, Hashable {
    /// It uses them as they are.
    case usable
    /// Steps that it knows are missing.
    case incomplete
    /// It may not use them, because its statements damage newer data.
    case tooNew
  }

  /// Returns what a server that knows a number of steps may do. Newer tables are usable if only additive steps were
  /// added.
  package func verdict(knowing known: Int) -> Verdict {
    if version < known { return .incomplete }
    return version == known || oldest <= known ? .usable : .tooNew
  }

  /// Returns the version after the next step. An additive step leaves older servers in use.
  package func next(isAdditive: Bool) -> TableVersion {
    TableVersion(version: version + 1, oldest: isAdditive ? oldest : version + 1)
  }
}

extension BothyError {
  static func newerTables(_ found: TableVersion, known: Int) -> BothyError {
    BothyError(
      .newerFile,
      "The tables have version \(found.version) and need a server that knows \(found.oldest); this one knows "
        + "\(known). Update it: a newer one was here. The tables were left as they are.")
  }

  /// The refusal of a server that may not change the tables.
  static func missingSteps(_ found: TableVersion, known: Int) -> BothyError {
    BothyError(
      .schemaMismatch,
      "The tables have version \(found.version), this server needs \(known). Run `bothy admin migrate` with its "
        + "database first, or start the server without --no-migrate.")
  }

  static func slowStep(_ version: Int, _ failure: PostgresFailure) -> BothyError {
    BothyError(
      .migrationFailed,
      "The step of the tables to version \(version) takes longer than a server waits at its start. Run "
        + "`bothy admin migrate` with its database, which waits.",
      underlying: failure)
  }
}
