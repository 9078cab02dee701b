import BothyCache
import BothyGeo
import BothyPacks
import BothySettings
import BothyStore
import BothySync
import Foundation
import HTTPTypes

/// The reason why a request fails: a code for programs, and a sentence with a remedy.
struct Problem: Error, Equatable {
  var status: HTTPResponse.Status
  var code: String
  var message: String

  init(_ status: HTTPResponse.Status, _ code: String, _ message: String) {
    self.status = status
    self.code = code
    self.message = message
  }

  static func foreignHost(_ command: String) -> Problem {
    Problem(
      .misdirectedRequest, "foreignHost",
      "The page answers on this machine's own address only. Open the address that `\(command)` printed.")
  }
  static func voidToken(_ command: String) -> Problem {
    Problem(
      .unauthorized, "voidToken",
      "This address was used already, or is of an earlier run. Run `\(command)` again and open what it prints."
    )
  }
  static func noSession(_ command: String) -> Problem {
    Problem(
      .unauthorized, "noSession",
      "This browser was not let in. Run `\(command)` again and open the address that it prints.")
  }
  static let foreignOrigin = Problem(
    .forbidden, "foreignOrigin", "The request does not come from the page itself. Make the change there.")
  static let notFound = Problem(
    .notFound, "notFound", "The page does not exist. Go back to the first one.")

  /// Creates the failure for any error of the other modules. Their messages say what to do.
  init(_ error: any Error) {
    switch error {
    case let problem as Problem: self = problem
    case let error as WhereSyntaxError:
      self.init(.badRequest, "syntax", error.description)
    case let error as StoreError:
      let isAsked: Set<StoreError.Code> = [
        .invalidQuery, .unknownType, .unknownField, .invalidValue, .notFound,
      ]
      self.init(
        isAsked.contains(error.code) ? .badRequest : .internalServerError, error.code.description,
        error.message)
    case let error as SyncError:
      self.init(error.code == .notPending ? .conflict : .badGateway, error.code.description, error.message)
    case let error as GeoError: self.init(.internalServerError, "geo", error.message)
    case let error as PackError: self.init(.internalServerError, "pack", error.message)
    case let error as SettingsError: self.init(.internalServerError, "settings", error.message)
    default: self.init(.internalServerError, "failed", "\(error)")
    }
  }
}
