public import BothyStore

/// One declared change to the stored values of a group, run once when a home holds a lower version.
///
/// A new property with a default needs no step, and no new version. All steps of an opening run in one transaction:
/// they all succeed, or the group is as it was.
///
/// ```swift
/// @SettingsGroup(
///   version: 2,
///   steps: [
///     SettingsStep(to: 2, .rename(from: "languageLocale", to: "language")),
///     SettingsStep(to: 2, .convert(field: "timeFormat") { .int($0 == "24" ? 24 : 12) }),
///   ])
/// struct LocaleSettings {
///   var language = "en"
///   var timeFormat = 12
/// }
/// ```
public struct SettingsStep: Sendable {
  /// The group's version that the step leads to.
  package var version: Int
  /// The change that the step makes.
  package var change: Change

  /// A change that can't be derived from the declaration alone.
  public enum Change: Sendable {
    /// Gives a new field a value that is computed from the stored values, in place of its default.
    ///
    /// The closure receives the values by their stored names, after the steps before it.
    case add(field: String, @Sendable ([String: FieldValue]) throws -> FieldValue)
    /// Gives the value of a field another name; fails when a field of that name is stored already.
    case rename(from: String, to: String)
    /// Deletes a field and its value. A field that is no longer declared and has no such step is kept.
    case remove(field: String)
    /// Gives a field a new value from its old one, of the kind that the group now declares.
    case convert(field: String, @Sendable (FieldValue) throws -> FieldValue)
  }

  /// A step that runs where the stored version is lower than `version` and the group's is not. Steps run in the order
  /// of their versions.
  ///
  /// Steps of one version run in the order of the array. A step for a field that isn't stored is left out: a version that
  /// was skipped had added it. An error of a closure is thrown as `BothyError` `.migrationFailed`, and nothing is written.
  public init(to version: Int, _ change: Change) {
    self.version = version
    self.change = change
  }
}
