/// What can go wrong in the store: a code to branch on, a sentence that says what to do, and the cause.
///
/// `description` is the sentence alone; `String(reflecting:)` adds the code and the cause.
public struct StoreError: Error, Sendable {
  /// What kind of failure it is. New codes may be added; compare, don't switch exhaustively.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private let name: String
    private init(_ name: String) { self.name = name }
    public var description: String { name }

    public static let invalidSchema = Code("invalidSchema")
    public static let unknownType = Code("unknownType")
    public static let unknownField = Code("unknownField")
    public static let invalidValue = Code("invalidValue")
    public static let invalidQuery = Code("invalidQuery")
    public static let notFound = Code("notFound")
    public static let alreadyExists = Code("alreadyExists")
    public static let uniqueViolation = Code("uniqueViolation")
    public static let denied = Code("denied")
    public static let newerFile = Code("newerFile")
    public static let schemaMismatch = Code("schemaMismatch")
    public static let migrationFailed = Code("migrationFailed")
    public static let notADatabase = Code("notADatabase")
    public static let corrupt = Code("corrupt")
    public static let cannotOpen = Code("cannotOpen")
    public static let readOnly = Code("readOnly")
    public static let diskFull = Code("diskFull")
    public static let nestedWrite = Code("nestedWrite")
    public static let busy = Code("busy")
    public static let cancelled = Code("cancelled")
    public static let database = Code("database")
  }

  public var code: Code
  /// One or two sentences: what happened, to which record or file, and what to do.
  public var message: String
  public var underlying: (any Error)?

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
