/// Why the authority refused a whole request; nothing of it was carried out.
public struct AuthorityError: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was wrong. The raw value is the word that the answer has as its code.
  public enum Code: String, Sendable, Hashable {
    /// A cursor that this server did not give out.
    case badCursor
    /// More operations than `AuthorityRules.operationLimit`.
    case tooManyOperations
    /// More places to pull from than `AuthorityRules.pullLimit`.
    case tooManyPulls
    /// A query, or another reading of many records, that took longer than it may.
    case tooExpensive
    /// Two operations with the same id, or another malformed request.
    case badRequest
    /// The device's schema version is below the minimum: the app must be updated.
    case updateRequired
    /// The request is the work of another principal than the one who sends it.
    case wrongPrincipal
    /// The request is meant for another server, or another space.
    case otherServer
    /// The device has followed a history that this one does not go on from: it has to compare before it sends.
    case otherHistory
  }

  /// What callers branch on; over HTTP it decides the status of the answer.
  public var code: Code
  /// What was wrong and what to do, for people; goes out with the answer.
  public var message: String

  /// - Parameter message: a sentence that may be told to whoever sent the request.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
