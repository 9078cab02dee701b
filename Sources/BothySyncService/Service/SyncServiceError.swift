/// The reason why the server refused a whole request. None of it was carried out.
///
/// A rejected operation isn't one: it has an outcome of its own.
public struct SyncServiceError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of problem. The raw value is the code of the answer.
  ///
  /// Each case names its status over HTTP.
  public enum Code: String, Sendable, Hashable {
    /// This server did not issue the cursor. Status 400.
    ///
    /// Pull or query without a cursor.
    case badCursor
    /// The request has more operations than `AccessRules.operationLimit`, or more than 500 values of sensitive fields.
    /// Status 413.
    ///
    /// Send them in several requests.
    case tooManyOperations
    /// The request has more scopes to pull than `AccessRules.pullLimit`. Status 413.
    ///
    /// Pull the others in further requests.
    case tooManyPulls
    /// The request changes who sees what in more rows than `AccessRules.sharingRowLimit`, or names a user in too many
    /// lists or memberships. Status 413.
    ///
    /// Change fewer records or members at a time, or take the user out of other lists.
    case tooManyReaders
    /// The stamps or containers of the scope have more bytes than `AccessRules.answerSize`. Status 413.
    ///
    /// Request fewer parts, or a smaller scope.
    case answerTooLarge
    /// A query, or another read of many records, took longer than allowed. Status 503.
    ///
    /// Request less at a time, or declare an index for the query.
    case tooExpensive
    /// Two operations have one id, or the request is malformed otherwise. Status 400.
    ///
    /// Ids of devices and operations have at most 128 bytes.
    case badRequest
    /// The device's schema version is below the minimum, and the app must be updated. Status 422.
    ///
    /// Its pending changes stay on the device until then.
    case updateRequired
    /// The request has the changes of another user than its sender. Status 403.
    ///
    /// Names are compared byte by byte. A sender without a token is never refused for this.
    case wrongPrincipal
    /// The request belongs to another server, or another space. Status 409.
    ///
    /// The device needs the address of that server, or another file.
    case otherServer
    /// The device's history isn't continued by this one. It must compare its records before it sends changes. Status
    /// 409.
    ///
    /// A restored or emptied server causes it. Requests that only pull are answered.
    case otherHistory
  }

  /// The code that callers branch on. Over HTTP it decides the status of the answer.
  public var code: Code
  /// A message for people, with what was wrong and what to do. It is sent with the answer.
  ///
  /// It may contain ids and names of the request, and nothing of other users' records.
  public var message: String

  /// Makes an error, for storages and servers of one's own.
  ///
  /// - Parameter message: a sentence that the sender of the request may read.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  /// The message, without the code.
  public var description: String { message }
}
