/// One declared change to stored data, run when a file of a lower schema version is opened.
///
/// Additive changes (a new type, a new field that is optional or has a default, indexes) need no step. All steps of an
/// opening run in one transaction: they all succeed, or the file is unchanged.
///
/// ```swift
/// let schema = StoreSchema(version: 2, TodoList.self, Todo.self)
/// let migrations = [
///   Migration(to: 2, .renameField(type: "Todo", from: "deadline", to: "due")),
///   Migration(to: 2, .dropField(type: "Todo", field: "colour")),
/// ]
/// let store = try SyncedStore(at: path, schema: schema, migrations: migrations, remote: remote)
/// ```
public struct Migration: Sendable {
  /// The schema version that this step produces.
  package var version: Int
  /// The change itself.
  package var step: Step

  /// A change that two schemas alone don't show. Pending changes are converted with the rows.
  ///
  /// A step that fails makes the opening throw `BothyError` `.migrationFailed`, and the file is unchanged. The type and
  /// the field are named as at that step, after the renames before it.
  public enum Step: Sendable {
    /// Renames a type; references to it follow, and so does its own container, in what the file follows too. No record is
    /// rewritten. The type keeps its old name on the wire, where older apps and the server know it. Another container
    /// that has the new name already gets a colon before it, as long as a type has the name. In the app's scopes the former
    /// name denotes the container too. Rebuilds the indexes of the type.
    case renameType(from: String, to: String)
    /// Renames a field; its values stay. The field keeps its old name on the wire, so that it stays one field for older
    /// apps, the server and new installs. Keep the step in the list, or give the field its `wire` name. Rebuilds the
    /// indexes of the type.
    case renameField(type: String, from: String, to: String)
    /// Drops a type and all its records. Its pending changes are dropped too, and are never sent. The records stay on
    /// the server, and come again if a later version declares a synced type of this name.
    case dropType(String)
    /// Drops a field. The values of a synced type are preserved, because other devices and the server still have the
    /// field. Rewrites the rows of the type.
    case dropField(type: String, field: String)
    /// Makes a field sensitive, as the new schema declares. Its values move to the secret store. The next push sends
    /// them as secrets, even for records without pending changes. Runs once a row that has a value.
    case makeSensitive(type: String, field: String)
    /// Computes a new value of a field from the old one, which is of the kind of `from`: `String.self`. The new schema
    /// declares the new kind. Runs once a row.
    ///
    /// Keep the step in the list: values that the server has of the old kind are converted each time they arrive. The
    /// server keeps them until the app writes the field. Opening throws `BothyError` `invalidSchema` if JSON doesn't
    /// tell old values from new ones, as with `Int` and `Double`.
    case convertField(
      type: String, field: String, from: any FieldConvertible.Type,
      @Sendable (FieldValue) throws -> FieldValue)
  }

  /// Creates a step that runs if a file's version is lower than `version` and the app's isn't. Steps run in the order
  /// of their versions. Steps of one version run in the order of the list.
  ///
  /// A new file runs no step. Keep all steps, because a file of any earlier version may be opened. A step about a type or
  /// a field that came after the file's version does nothing to it.
  public init(to version: Int, _ step: Step) {
    self.version = version
    self.step = step
  }
}
