import BothyStore

/// A storage that takes all values of sensitive fields of a request before its transaction.
package protocol SecretStaging: Sendable {
  /// Stores values where they are durable, and in force for no record yet. Costs the same number of flushes for any
  /// number of values.
  func stage(space: String, _ secrets: [OperationSecrets]) throws -> any StagedSecrets
  /// Returns what ended processes have left staged and may be in force, the newest first. Deletes the rest of theirs.
  func abandoned() throws -> [any StagedSecrets]
  /// Deletes the values of some fields of a record.
  func remove(space: String, _ record: RecordID, fields: [String]) throws
}

/// The effects of one operation on the values of sensitive fields of its record.
package struct OperationSecrets: Sendable {
  package var operation: String
  /// The key of the operation's outcome.
  package var outcome: OperationKey
  package var record: RecordID
  package var secrets: Secrets
  /// The fields whose values go.
  package var cleared: [String] = []
  /// True if all values go that the record has until then.
  package var removesAll = false

  package init(operation: String, outcome: OperationKey, record: RecordID, _ secrets: Secrets) {
    self.operation = operation
    self.outcome = outcome
    self.record = record
    self.secrets = secrets
  }
}

/// Staged values of one request. A process that ends leaves them to `SecretStaging.abandoned`.
package protocol StagedSecrets: Sendable {
  var space: String { get }
  /// The keys of the operations whose values are in force, and of those that removed some.
  var kept: [OperationKey] { get }
  /// The records of the kept operations.
  var records: [RecordID] { get }
  /// Puts the values of these operations in force, each in place of the one before, which `undo` brings back. Runs
  /// within the storage's transaction. A repetition first undoes the run before. Costs two flushes.
  ///
  /// - Parameter head: the position of the last change of the request.
  func keep(_ operations: Set<String>, upTo head: Int64) throws
  /// Undoes what was kept of all operations but these. A later value stays. Runs with the space's lock, and may run
  /// again.
  func undo(except applied: Set<OperationKey>) throws
  /// Puts the values of these operations in force that a crash of the system has lost. Runs like `undo`, and after it.
  ///
  /// - Parameter positions: the positions of the live ones of `records`.
  func complete(_ applied: Set<OperationKey>, _ positions: [RecordID: Int64]) throws
  /// Makes the values in force durable in their own places, and deletes the staged ones.
  func finish()
}
