internal import Foundation
internal import HTTPTypes

/// The rules for following a redirect, and for the fields that may be sent there, as pure functions.
///
/// A redirect may lead to any other host, and the body counts as that of the requested address. A redirect from https
/// to http is refused, and one that the resource's source doesn't admit.
enum RedirectRule {
  static let limit = 10

  enum Step: Equatable {
    /// The response isn't a redirect, or not one to follow, so deliver it.
    case deliver
    case follow(String)
    case refuse(LoadFailure)
  }

  /// - Parameters:
  ///   - hops: the number of redirects that were already followed.
  ///   - admits: returns false for a redirect that isn't followed. `nil` follows all.
  static func step(
    from url: String, status: Int, fields: HTTPFields, hops: Int, admits: ((String, String) -> Bool)?
  ) -> Step {
    guard AnswerKind(status: status) == .redirect, let location = fields[.location] else { return .deliver }
    guard hops < limit else {
      return refuse(
        "\(url.shownAddress) was redirected more than \(limit) times. Ask for the address that it ends at.")
    }
    guard let base = URL(string: url), let target = URL(string: location, relativeTo: base)?.absoluteURL,
      var parts = URLComponents(url: target, resolvingAgainstBaseURL: true)
    else {
      return refuse("\(url.shownAddress) redirects to \"\(location.shownAddress)\", which isn't an address.")
    }
    parts.fragment = nil
    guard let text = parts.string, let origin = Origin(text) else {
      return refuse(
        "\(url.shownAddress) redirects to \"\(location.shownAddress)\", which isn't a web server's address.")
    }
    if base.scheme?.lowercased() == "https", origin.scheme != "https" {
      return refuse(
        "\(url.shownAddress) redirects from https to \(origin), where others on the way could change the bytes."
      )
    }
    guard admits?(url, text) ?? true else {
      return refuse(
        "\(url.shownAddress) redirects to \(origin), where its source may not lead. Use an address without it."
      )
    }
    return .follow(text)
  }

  /// Returns the fields to send to the next address, without secrets if it is another server.
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
