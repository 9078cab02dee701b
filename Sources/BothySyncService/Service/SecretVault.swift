import BothyStore

/// A server's storage of the values of sensitive fields, with the operations to delete them with their record and with
/// their space.
///
/// The methods are called inside transactions and block their thread, so they should be quick. May be called from any
/// thread.
public protocol SecretVault: Sendable {
  /// Returns true if the vault has a value of the record.
  func holds(space: String, _ record: RecordID) -> Bool
  /// Deletes all values of the record, if it has any.
  func remove(space: String, _ record: RecordID) throws
  /// Deletes all values of the space, if it has any.
  func remove(space: String) throws
  /// Returns the records of a space with values.
  func records(of space: String) throws -> [RecordID]
}
