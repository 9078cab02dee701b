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
    public let rawValue: String

    /// Creates a code of an app's own, such as that of its `SecretStore` or of a settings group's check.
    public init(_ name: String) { rawValue = name }

    public var description: String { rawValue }
  }

  /// The kind of failure.
  public var code: Code
  /// One or two sentences: what happened, to which record, file or resource, and what to do.
  public var message: String
  /// The error of SQLite, of the system or of the server that caused it, or `nil` if Bothy itself refused.
  public var underlying: (any Error)?
  /// The parts that a module adds, such as the record of a sync's error or the status of a download's.
  private var details: (any ErrorDetails)?

  /// Creates an error of the app's own implementation of a protocol, and for tests.
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
  public static func == (left: BothyError, right: BothyError) -> Bool {
    left.code == right.code && left.message == right.message
  }

  public func hash(into hasher: inout Hasher) {
    hasher.combine(code)
    hasher.combine(message)
  }
}

extension BothyError: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { message }

  public var debugDescription: String {
    "BothyError.\(code): \(message)" + (underlying.map { " (cause: \(String(reflecting: $0)))" } ?? "")
  }
}
