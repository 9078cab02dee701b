/// An error of any Bothy module: a code to branch on, a sentence that says what to do, and the cause.
///
/// ```swift
/// do {
///   try await store.save(todo, policy: .remote)
/// } catch let error as BothyError where error.code == .unreachable {
///   show("Not now: \(error.message)")
/// }
/// ```
///
/// `description` is the sentence alone. `String(reflecting:)` adds the code and the cause.
public struct BothyError: Error, Sendable {
  /// A kind of failure. New codes may be added, so compare codes and don't switch exhaustively.
  ///
  /// Failures that a program seldom tells apart have a code without a constant: `Code("invalidQuery")`. The
  /// documentation writes such a code without a dot. The codes of a server's rejections are codes of this type too, by
  /// their names.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    /// The name of the constant, as in logs and on the wire. Later versions keep it.
    ///
    /// Two codes are equal if their names are. Case counts.
    public let rawValue: String

    /// Creates a code of an app's own, such as that of its `SecretStore` or of a settings group's check.
    ///
    /// Any text is allowed, and none is registered. A name of one of Bothy's codes makes a code equal to it.
    ///
    /// ```swift
    /// extension BothyError.Code { static let kitchenClosed = BothyError.Code("kitchenClosed") }
    ///
    /// throw BothyError(.kitchenClosed, "The kitchen opens at six. Order then.")
    /// ```
    public init(_ name: String) { rawValue = name }

    /// The name of the code, like `rawValue`.
    public var description: String { rawValue }
  }

  /// The kind of failure.
  ///
  /// Branch on it. Codes stay the same in later versions, and messages may change.
  public var code: Code
  /// One or two sentences: what happened, to which record, file or resource, and what to do.
  ///
  /// In English, for logs and developers. It may have paths, ids and the server's own words. Do not parse it.
  public var message: String
  /// The error of SQLite, of the system or of the server that caused it, or `nil` if Bothy itself refused.
  ///
  /// It doesn't take part in comparisons. `String(reflecting:)` of the error shows it.
  public var underlying: (any Error)?
  /// The parts that a module adds, such as the record of a sync's error or the status of a download's.
  private var details: (any ErrorDetails)?

  /// Creates an error of the app's own implementation of a protocol, and for tests.
  ///
  /// - Parameters:
  ///   - message: A sentence for the failure, and one for the remedy.
  ///   - underlying: The error that caused it. `nil` if none did.
  public init(_ code: Code, _ message: String, underlying: (any Error)? = nil) {
    self.code = code
    self.message = message
    self.underlying = underlying
  }
}

/// The parts of an error that one module adds. `init()` makes empty ones.
package protocol ErrorDetails: Sendable {
  init()
}

extension BothyError {
  /// The parts that a module added, or empty ones.
  package subscript<Details: ErrorDetails>(_ type: Details.Type) -> Details {
    get { details as? Details ?? Details() }
    set { details = newValue }
  }
}

extension BothyError: Hashable {
  /// Returns true if the codes and the messages are equal.
  ///
  /// The cause and the details of modules, such as `record` or `status`, are ignored.
  public static func == (left: BothyError, right: BothyError) -> Bool {
    left.code == right.code && left.message == right.message
  }

  /// Hashes the code and the message, which `==` compares.
  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension BothyError: CustomStringConvertible, CustomDebugStringConvertible {
  /// The message alone, as users and logs see it by default.
  public var description: String { message }

  /// The code, the message and the cause in one line: `BothyError.unreachable: … (cause: …)`.
  ///
  /// The cause is left out if `underlying` is `nil`.
  public var debugDescription: String {
    "BothyError.\(code): \(message)" + (underlying.map { " (cause: \(String(reflecting: $0)))" } ?? "")
  }
}
