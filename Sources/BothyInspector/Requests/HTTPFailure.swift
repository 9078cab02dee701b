import BothyCache
import BothyGeo
import BothyPacks
import BothySettings
import BothyStore
import BothySync
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The reason why a request fails: a code for programs, and a sentence with a remedy.
struct HTTPFailure: Error {
  var status: HTTPResponse.Status
  var code: String
  var message: String

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  static func foreignHost(_ command: String) -> HTTPFailure {
    HTTPFailure(
      .misdirectedRequest, "foreignHost",
      "The page answers on this machine's own address only. Open the address that `\(command)` printed.")
  }
  static func voidToken(_ command: String) -> HTTPFailure {
    HTTPFailure(
      .unauthorized, "voidToken",
      "This address was used already, or is of an earlier run. Run `\(command)` again and open what it prints."
    )
  }
  static func noSession(_ command: String) -> HTTPFailure {
    HTTPFailure(
      .unauthorized, "noSession",
      "This browser was not let in. Run `\(command)` again and open the address that it prints.")
  }
  static let foreignOrigin = HTTPFailure(
    .forbidden, "foreignOrigin", "The request does not come from the page itself. Make the change there.")
  static let notFound = HTTPFailure(
    .notFound, "notFound", "The page does not exist. Go back to the first one.")

  static func wrongMethod(takesChanges: Bool) -> HTTPFailure {
    HTTPFailure(
      .methodNotAllowed, "methodNotAllowed",
      "The page is read with GET" + (takesChanges ? " and changed with POST." : ". It changes nothing."))
  }

  /// The failure for programs.
  var json: Response {
    .object(status: status) { writer in
      writer.object("error") { writer in
        writer.member("code", code)
        writer.member("message", message)
      }
    }
  }

  /// The failure for people who open the page.
  var text: Response {
    Response(Array((message + "\n").utf8), type: "text/plain; charset=utf-8", status: status)
  }

  /// Creates the failure for any error of the router and of other modules. Their messages say what to do.
  init(_ error: any Error) {
    switch error {
    case let problem as HTTPFailure: self = problem
    case is HTTPError: self = .notFound
    case is NIOTooManyBytesError:
      self.init(.contentTooLarge, "tooLarge", "The request is larger than 64 KB. Send less at once.")
    case let error as WhereSyntaxError:
      self.init(.badRequest, "syntax", error.description)
    case let error as BothyError:
      self.init(Self.status(of: error), error.code.description, error.message)
    default: self.init(.internalServerError, "failed", "\(error)")
    }
  }

  private static func status(of error: BothyError) -> HTTPResponse.Status {
    switch error.code {
    case .invalidQuery, .unknownType, .unknownField, .invalidValue, .notFound: .badRequest
    case .notPending: .conflict
    case .unreachable, .signInRequired, .throttled, .serverError, .otherServer, .protocolViolation,
      .rejected, .signedOut, .updateRequired:
      .badGateway
    default: .internalServerError
    }
  }
}
