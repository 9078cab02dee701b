/// An error of settings: a code to branch on, a sentence that says what to do, and the cause.
///
/// Errors of the file itself are `StoreError`s. `description` is the sentence alone; `String(reflecting:)` adds the
/// code and the cause.
public struct SettingsError: Error, Sendable {
  /// The kind of failure. New codes may be added, so compare with `==` and don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The shared container doesn't exist or can't be used.
    public static let noContainer = Code("noContainer")
    /// A newer version of the app wrote the group.
    public static let newerSchema = Code("newerSchema")
    /// A step failed. The stored group is unchanged.
    public static let migrationFailed = Code("migrationFailed")
    /// The stored kind of a value differs from the declared kind, and no step converts it.
    public static let schemaMismatch = Code("schemaMismatch")
    /// The stored group can't be read.
    public static let unreadable = Code("unreadable")
    /// Two types of the app use one name in one home.
    public static let nameTaken = Code("nameTaken")
    /// A commit was made inside the closure of a write of the same home.
    public static let nestedCommit = Code("nestedCommit")
    /// Commits from `postCommit` never ended.
    public static let recursionLimit = Code("recursionLimit")
    /// The change is durable, but `postCommit` threw.
    public static let postCommitFailed = Code("postCommitFailed")
    /// A value that the setting can't hold.
    public static let invalidValue = Code("invalidValue")
    /// The file holds no group of that name.
    public static let unknownGroup = Code("unknownGroup")
    /// The group has no setting of that name.
    public static let unknownKey = Code("unknownKey")
  }

  /// The kind of failure.
  public var code: Code
  /// One or two sentences that state what happened, to which settings, and what to do.
  public var message: String
  /// The error of the store, of a step or of a hook that caused this one. It is nil if the settings themselves refused.
  public var underlying: (any Error)?

  /// Creates an error, for example of an app's own step or hook.
  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

extension SettingsError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }

  public var debugDescription: String {
    let cause = underlying.map { " (cause: \(String(reflecting: $0)))" } ?? ""
    return "SettingsError.\(code): \(message)\(cause)"
  }
}
