/// What can go wrong in the store: a code to branch on, a sentence that says what to do, and the cause.
///
/// `description` is the sentence alone; `String(reflecting:)` adds the code and the cause.
public struct StoreError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// A declaration breaks a rule: a name, a duplicate, a reference to a type that is not declared.
    public static let invalidSchema = Code("invalidSchema")
    /// The schema has no type of that name.
    public static let unknownType = Code("unknownType")
    /// The type has no field of that name.
    public static let unknownField = Code("unknownField")
    /// A value does not fit its field: of another kind, null where one is required, off the earth, or over 1 GB.
    public static let invalidValue = Code("invalidValue")
    /// A query asks what the field's kind can't answer, or has a negative limit or offset.
    public static let invalidQuery = Code("invalidQuery")
    /// There is no such record.
    public static let notFound = Code("notFound")
    /// An insert of an id that the type has already.
    public static let alreadyExists = Code("alreadyExists")
    /// Another record has the same value of a unique field.
    public static let uniqueViolation = Code("uniqueViolation")
    /// A delete rule forbids it: other records refer to the one that was to go.
    public static let denied = Code("denied")
    /// The file was written by a newer version of the app or of Bothy; it was left as it is.
    public static let newerFile = Code("newerFile")
    /// The file does not fit the declared schema, and no migration brings it there; it was left as it is.
    public static let schemaMismatch = Code("schemaMismatch")
    /// A step of a migration failed; the file was left as it is.
    public static let migrationFailed = Code("migrationFailed")
    /// The file is of another program, or no database at all; it was left as it is.
    public static let notADatabase = Code("notADatabase")
    /// The file is damaged. `Store.diagnose(fileAt:)` says how.
    public static let corrupt = Code("corrupt")
    /// There is no such file, or the system does not let it be opened.
    public static let cannotOpen = Code("cannotOpen")
    /// The file, its folder or the keychain may not be written.
    public static let readOnly = Code("readOnly")
    /// The disk is full; nothing was written.
    public static let diskFull = Code("diskFull")
    /// A write was begun inside another one of the same store, and would have waited for itself.
    public static let nestedWrite = Code("nestedWrite")
    /// SQLite ended a transaction by itself after an error inside it, a full disk say; nothing of it was written.
    public static let rolledBack = Code("rolledBack")
    /// Another process kept the file locked for longer than `StoreOptions.busyTimeout`.
    public static let busy = Code("busy")
    /// The task was cancelled; the transaction was rolled back.
    public static let cancelled = Code("cancelled")
    /// Any other failure of SQLite or of the disk; `underlying` says which.
    public static let database = Code("database")
  }

  /// What kind of failure it is.
  public var code: Code
  /// One or two sentences: what happened, to which record or file, and what to do.
  public var message: String
  /// The error that caused it, as SQLite or the system gave it; nil when the store itself refused.
  public var underlying: (any Error)?

  /// An error of a seam of one's own, such as a `SecretStore`, in the store's terms.
  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }

  static func invalidSchema(_ message: String) -> StoreError { StoreError(.invalidSchema, message) }
}

extension StoreError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }

  public var debugDescription: String {
    let cause = underlying.map { " (cause: \(String(reflecting: $0)))" } ?? ""
    return "StoreError.\(code): \(message)\(cause)"
  }
}
