/// An error of the store: a code to branch on, a sentence that says what to do, and the cause.
///
/// `description` is the sentence alone. `String(reflecting:)` adds the code and the cause.
public struct StoreError: Error, Sendable {
  /// The kind of failure. New codes may be added, so compare codes and don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    /// A declaration breaks a rule: a name, a duplicate, a reference to a type that isn't declared.
    public static let invalidSchema = Code("invalidSchema")
    /// The schema has no type of that name.
    public static let unknownType = Code("unknownType")
    /// The type has no field of that name.
    public static let unknownField = Code("unknownField")
    /// A value doesn't fit its field: of another kind, null in a required field, off the earth, or over 1 GB.
    public static let invalidValue = Code("invalidValue")
    /// A query has a condition that the field's kind doesn't support, or a negative limit or offset.
    public static let invalidQuery = Code("invalidQuery")
    /// The record doesn't exist.
    public static let notFound = Code("notFound")
    /// A record with the inserted id exists already.
    public static let alreadyExists = Code("alreadyExists")
    /// Another record has the same value of a unique field.
    public static let uniqueViolation = Code("uniqueViolation")
    /// A delete rule forbids it, because other records refer to the one to delete.
    public static let denied = Code("denied")
    /// A newer version of the app or of Bothy wrote the file, which is unchanged.
    public static let newerFile = Code("newerFile")
    /// The file doesn't fit the declared schema, and no migration converts it. The file is unchanged.
    public static let schemaMismatch = Code("schemaMismatch")
    /// A step of a migration failed. The file is unchanged.
    public static let migrationFailed = Code("migrationFailed")
    /// The file belongs to another program or isn't a database. The file is unchanged.
    public static let notADatabase = Code("notADatabase")
    /// The file is damaged. `LocalStore.diagnose(fileAt:)` reports the details.
    public static let corrupt = Code("corrupt")
    /// The file doesn't exist, or the system doesn't allow to open it.
    public static let cannotOpen = Code("cannotOpen")
    /// The file, its folder or the keychain isn't writable.
    public static let readOnly = Code("readOnly")
    /// The disk is full, and nothing was written.
    public static let diskFull = Code("diskFull")
    /// A write began inside another write of the same store, which blocks it forever.
    public static let nestedWrite = Code("nestedWrite")
    /// SQLite ended a transaction by itself after an error inside it, such as a full disk. Nothing of it was written.
    public static let rolledBack = Code("rolledBack")
    /// Another process kept the file locked for longer than `StoreOptions.busyTimeout`.
    public static let busy = Code("busy")
    /// The task was cancelled, and the transaction was rolled back.
    public static let cancelled = Code("cancelled")
    /// Any other failure of SQLite or of the disk. `underlying` has the details.
    public static let database = Code("database")
  }

  /// The kind of failure.
  public var code: Code
  /// One or two sentences: what happened, to which record or file, and what to do.
  public var message: String
  /// The error of SQLite or the system that caused it, or nil if the store itself refused.
  public var underlying: (any Error)?

  /// Creates an error of the app's own implementation of a protocol, such as a `SecretStore`.
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
