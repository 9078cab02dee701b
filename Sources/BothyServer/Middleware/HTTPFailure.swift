import BothyStore
import BothySyncService
import HTTPTypes

/// An error as a response: the status, a code for programs, and a sentence for people.
struct HTTPFailure: Error {
  var status: HTTPResponse.Status
  var code: String
  var message: String
  var fields: [Rejection.FieldError] = []
  var headers: HTTPFields = [:]
  /// The reason why access was refused, for the audit log alone.
  var reason: String?

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String, reason: String? = nil) {
    self.status = status
    self.code = code
    self.message = message
    self.reason = reason
  }

  /// Returns `{"error":{"code","message","fields"?,"requestId"}}`.
  func json(requestID: String) -> [UInt8] {
    var writer = JSONWriter(reserving: 256)
    writer.beginObject()
    writer.key("error")
    writer.beginObject()
    Rejection(code: code, message: message, fields: fields).writeMembers(to: &writer)
    writer.member("requestId", requestID)
    writer.endObject()
    writer.endObject()
    return writer.bytes
  }
}

extension HTTPFailure {
  static func badRequest(_ message: String, code: String = "badRequest") -> HTTPFailure {
    HTTPFailure(.badRequest, code, message)
  }

  static let notFound = HTTPFailure(.notFound, "notFound", "There is nothing here that you may see.")

  static func tooLarge(_ limit: Int) -> HTTPFailure {
    HTTPFailure(
      .contentTooLarge, "tooLarge", "The body is larger than the \(limit) bytes this server takes.")
  }

  /// The failure for a body that came too slowly. The connection ends with the answer.
  static var tooSlow: HTTPFailure {
    var problem = HTTPFailure(
      .requestTimeout, "tooSlow",
      "The body came too slowly. Send less at a time, or over a faster connection.")
    problem.headers[.connection] = "close"
    return problem
  }

  static func methodNotAllowed(_ allowed: [HTTPRequest.Method]) -> HTTPFailure {
    let names = allowed.map(\.rawValue).joined(separator: ", ")
    var problem = HTTPFailure(.methodNotAllowed, "methodNotAllowed", "This address takes \(names).")
    problem.headers[.allow] = names
    return problem
  }

  static func unauthenticated(_ message: String, _ refusal: TokenRefusal) -> HTTPFailure {
    var problem = HTTPFailure(.unauthorized, "unauthenticated", message, reason: refusal.rawValue)
    problem.headers[.wwwAuthenticate] =
      refusal == .missing ? #"Bearer realm="bothy""# : #"Bearer realm="bothy", error="invalid_token""#
    return problem
  }

  static let foreignHost = HTTPFailure(
    .misdirectedRequest, "foreignHost",
    "This server requires no tokens, so it answers under its own names only: an IP address, localhost, or the name it "
      + "was started with. Start it with --allow-host and this name, or with --tokens.")

  static func rateLimited(retryAfter seconds: Int, reason: String) -> HTTPFailure {
    var problem = HTTPFailure(
      .tooManyRequests, "rateLimited", "Too many requests; try again in \(seconds) seconds.", reason: reason)
    problem.headers[.retryAfter] = String(seconds)
    return problem
  }

  static func unavailable(
    _ message: String, code: String = "unavailable", retryAfter seconds: Int = 1
  ) -> HTTPFailure {
    var problem = HTTPFailure(.serviceUnavailable, code, message)
    problem.headers[.retryAfter] = String(seconds)
    return problem
  }

  /// The failure for a large body or answer beyond what may be on its way.
  static let crowded = unavailable(
    "Too many large bodies and answers are on their way. Read your answers, and send this again later.")

  /// The failure for writes that the team's rule can't decide. The request is valid and can be sent again later.
  static let undecided = unavailable(
    "The server can't decide about changes at the moment, so nothing was written. Send this again later.",
    code: "undecided", retryAfter: WriteRuleUnavailable.retryAfter)

  /// The failure for a space of which the back end doesn't say if it is open. The request can be sent again later.
  static var spacesUnknown: HTTPFailure {
    var problem = unavailable(
      "The server can't find out at the moment which spaces you may use. Send this again later.",
      retryAfter: WriteRuleUnavailable.retryAfter)
    problem.reason = "spaces"
    return problem
  }

  /// The failure for a full disk. The request is valid and can be sent again later.
  static let diskFull = unavailable(
    "The server's disk is full, so nothing was written. Make room on it, and send this again later.",
    code: "diskFull", retryAfter: 30)

  /// The failure for a database that a newer server has changed, until this server is updated.
  static let outdated = unavailable(
    "This server is older than its database, so nothing was read or written. Send this again later.",
    code: "outdated", retryAfter: 30)

  /// Creates the failure for a rejection of one record.
  init(_ rejection: Rejection) {
    let status: HTTPResponse.Status =
      switch rejection.code {
      case "forbidden": .forbidden
      case "tooLarge": .contentTooLarge
      case "invalidName": .badRequest
      default: .unprocessableContent
      }
    self.init(status, rejection.code, rejection.message)
    fields = rejection.fields
  }
}

extension HTTPFailure {
  /// Creates the failure for a known error. Returns `nil` for an error that is the server's own fault.
  init?(_ error: any Error) {
    switch error {
    case let problem as HTTPFailure: self = problem
    case let error as JSONError: self.init(.badRequest, "malformed", error.description)
    case let error as SyncServiceError: self.init(error)
    case let error as StorageUnavailable: self = .unavailable(error.reason.rawValue)
    case is WriteRuleUnavailable: self = .undecided
    case let problem as BlobError: self.init(problem)
    case is CancellationError: self = .unavailable("The caller has left, or the server stops.")
    case let error as BothyError:
      switch error.code {
      case .invalidQuery, .unknownType, .unknownField, .invalidValue:
        self.init(.unprocessableContent, error.code.description, error.message)
      case .busy: self = .unavailable("The database is busy; try again.")
      case .diskFull: self = .diskFull
      case .newerFile: self = .outdated
      default: return nil
      }
    default: return nil
    }
  }

  private init(_ problem: BlobError) {
    let status: HTTPResponse.Status =
      switch problem.code {
      case .invalid: .badRequest
      case .notFound: .notFound
      case .tooLarge: .contentTooLarge
      case .quotaExceeded: .insufficientStorage
      case .checksumMismatch: .unprocessableContent
      case .unsupported: .notImplemented
      }
    self.init(status, problem.code.rawValue, problem.message)
  }

  /// Creates the failure for an error of the sync service. `updateRequired` is 422, because 426 concerns the protocol
  /// of the connection and requires an `Upgrade` field.
  private init(_ error: SyncServiceError) {
    let status: HTTPResponse.Status =
      switch error.code {
      case .badCursor, .badRequest: .badRequest
      case .tooManyOperations, .tooManyPulls, .tooManyReaders, .answerTooLarge: .contentTooLarge
      case .tooExpensive: .serviceUnavailable
      case .updateRequired: .unprocessableContent
      case .wrongPrincipal: .forbidden
      case .otherServer, .otherHistory: .conflict
      }
    self.init(status, error.code.rawValue, error.message)
  }
}

extension HTTPResponse.Status {
  /// The status 507 (RFC 4918, 11.5), which has no name of its own in HTTPTypes.
  static let insufficientStorage = HTTPResponse.Status(code: 507, reasonPhrase: "Insufficient Storage")
}
