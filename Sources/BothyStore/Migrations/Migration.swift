/// One declared change to stored data, run when a file of a lower schema version is opened.
///
/// Additive changes (a new type, a new field that is optional or has a default, indexes) need no step.
/// All steps of an opening run in one transaction: they all succeed, or the file is as it was.
public struct Migration: Sendable {
  /// The schema version that this step leads to.
  public var version: Int
  public var step: Step

  public enum Step: Sendable {
    case renameType(from: String, to: String)
    case renameField(type: String, from: String, to: String)
    case dropType(String)
    case dropField(type: String, field: String)
    /// Gives every record a new value of a field, from the old one; the new schema says the new kind.
    /// Runs once a row.
    case convertField(type: String, field: String, @Sendable (FieldValue) throws -> FieldValue)
  }

  public init(to version: Int, _ step: Step) {
    self.version = version
    self.step = step
  }
}
