/// What can go wrong with settings: a code to branch on, a sentence that says what to do, and the cause. What goes wrong
/// with the file itself is a `StoreError`.
///
/// `description` is the sentence alone; `String(reflecting:)` adds the code and the cause.
public struct SettingsError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// The shared container is not there, or may not be used.
    public static let noContainer = Code("noContainer")
    /// A newer version of the app wrote the group.
    public static let newerSchema = Code("newerSchema")
    /// A step failed; the stored group is as it was.
    public static let migrationFailed = Code("migrationFailed")
    /// What is stored is of another kind than what is declared, and no step leads there.
    public static let schemaMismatch = Code("schemaMismatch")
    /// The stored group can't be read.
    public static let unreadable = Code("unreadable")
    /// Two types of the app use one name in one home.
    public static let nameTaken = Code("nameTaken")
    /// A commit inside the closure of a write of the same home.
    public static let nestedCommit = Code("nestedCommit")
    /// Commits from `postCommit` that never come to an end.
    public static let recursionLimit = Code("recursionLimit")
    /// The change is durable; `postCommit` threw.
    public static let postCommitFailed = Code("postCommitFailed")
    /// A value that the setting can't hold.
    public static let invalidValue = Code("invalidValue")
    /// The file holds no group of that name.
    public static let unknownGroup = Code("unknownGroup")
    /// The group has no setting of that name.
    public static let unknownKey = Code("unknownKey")
  }

  /// What kind of failure it is.
  public var code: Code
  /// One or two sentences: what happened, to which settings, and what to do.
  public var message: String
  /// The error that caused it: of the store, of a step or of a hook; nil when the settings themselves refused.
  public var underlying: (any Error)?

  /// An error of a step or hook of one's own, in the terms of settings.
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
