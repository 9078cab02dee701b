internal import Foundation
internal import HTTPTypes

/// Where a redirect leads and what may be told there, as a pure rule.
///
/// Any other host may be followed to; the body then counts as that of the address that was asked for. From https nothing
/// leads to http.
enum RedirectRule {
  static let limit = 10

  enum Step: Equatable {
    /// It is no redirect, or none that is to be followed: it is the answer.
    case deliver
    case follow(String)
    case refuse(LoadFailure)
  }

  /// - Parameter hops: how many redirects were followed already.
  static func step(from url: String, status: Int, fields: HTTPFields, hops: Int) -> Step {
    guard AnswerKind(status: status) == .redirect, let location = fields[.location] else { return .deliver }
    guard hops < limit else {
      return refuse(
        "\(url.shownAddress) was redirected more than \(limit) times. Ask for the address that it ends at.")
    }
    guard let base = URL(string: url), let target = URL(string: location, relativeTo: base)?.absoluteURL,
      var parts = URLComponents(url: target, resolvingAgainstBaseURL: true)
    else {
      return refuse("\(url.shownAddress) redirects to \"\(location.shownAddress)\", which is no address.")
    }
    parts.fragment = nil
    guard let text = parts.string, let origin = Origin(text) else {
      return refuse(
        "\(url.shownAddress) redirects to \"\(location.shownAddress)\", which is no address of a web server.")
    }
    if base.scheme?.lowercased() == "https", origin.scheme != "https" {
      return refuse(
        "\(url.shownAddress) redirects from https to \(origin), where anybody on the way could change the bytes."
      )
    }
    return .follow(text)
  }

  /// The fields to send on: without secrets where another server reads them.
  static func fields(
    _ fields: HTTPFields, from: Origin, to: Origin, secrets: Set<HTTPField.Name>
  ) -> HTTPFields {
    guard from != to else { return fields }
    return HTTPFields(fields.filter { !secrets.contains($0.name) && !CredentialFields.contains($0.name) })
  }

  private static func refuse(_ description: String) -> Step {
    .refuse(LoadFailure(.redirectRefused, description))
  }
}
