/// The reason why the server refused a whole request. None of it was carried out.
public struct SyncServiceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of problem. The raw value is the code of the answer.
  public enum Code: String, Sendable, Hashable {
    /// This server did not issue the cursor.
    case badCursor
    /// The request has more operations than `AccessRules.operationLimit`.
    case tooManyOperations
    /// The request has more scopes to pull than `AccessRules.pullLimit`.
    case tooManyPulls
    /// The request changes who sees what in more rows than `AccessRules.sharingRowLimit`.
    case tooManyReaders
    /// A query, or another read of many records, took longer than allowed.
    case tooExpensive
    /// Two operations have one id, or the request is malformed otherwise.
    case badRequest
    /// The device's schema version is below the minimum, and the app must be updated.
    case updateRequired
    /// The request has the changes of another user than its sender.
    case wrongPrincipal
    /// The request belongs to another server, or another space.
    case otherServer
    /// The device's history isn't continued by this one. It must compare its records before it sends changes.
    case otherHistory
  }

  /// The code that callers branch on. Over HTTP it decides the status of the answer.
  public var code: Code
  /// A message for people, with what was wrong and what to do. It is sent with the answer.
  public var message: String

  /// - Parameter message: a sentence that the sender of the request may read.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
