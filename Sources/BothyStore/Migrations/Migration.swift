/// One declared change to stored data, run when a file of a lower schema version is opened.
///
/// Additive changes (a new type, a new field that is optional or has a default, indexes) need no step.
/// All steps of an opening run in one transaction: they all succeed, or the file is as it was.
public struct Migration: Sendable {
  /// The schema version that this step leads to.
  public var version: Int
  /// What to do.
  public var step: Step

  /// A change that can't be told from two schemas alone. What waits to be sent is changed with the rows.
  public enum Step: Sendable {
    /// The type gets another name, and references to it follow. No record is rewritten. On the wire it keeps the name it
    /// had, so that older apps and the server know it.
    case renameType(from: String, to: String)
    /// The field gets another name; its values stay. On the wire it keeps the name it had, so that it is one field for
    /// older apps, the server and new installs: keep the step in the list, or give the field its `wire` name.
    case renameField(type: String, from: String, to: String)
    /// The type and all its records go.
    case dropType(String)
    /// The field goes. Of synced types its values are kept aside, because other devices and the server go on to have them.
    case dropField(type: String, field: String)
    /// The field becomes sensitive in the new schema. Its values move to the secret store, and the next push carries
    /// them as secrets, also those of records that had nothing pending. Runs once a row that has a value.
    case makeSensitive(type: String, field: String)
    /// Gives every record a new value of a field, from the old one; the new schema says the new kind.
    /// Runs once a row.
    case convertField(type: String, field: String, @Sendable (FieldValue) throws -> FieldValue)
  }

  /// A step that runs where a file's version is lower than `version` and the app's is not. Steps run in the order of
  /// their versions.
  public init(to version: Int, _ step: Step) {
    self.version = version
    self.step = step
  }
}
