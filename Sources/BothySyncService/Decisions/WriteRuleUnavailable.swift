/// The error of a request with writes that the team's rule couldn't decide. Nothing of the request was written or
/// remembered, and it may be sent again with equal operation ids.
///
/// Over HTTP it is the status 503 with `retryAfter`. `AccessRules.acceptsUndecided` avoids it.
public struct WriteRuleUnavailable: Error, Sendable, Hashable, CustomStringConvertible {
  /// The time after which a client sends the request again, in seconds.
  public static let retryAfter = 5
  /// The reason, for a log.
  ///
  /// It may be the text of any error of the rule, so it isn't sent to clients.
  public var detail: String

  /// - Parameter detail: for a log alone.
  public init(_ detail: String) { self.detail = detail }

  /// A sentence with the detail, for a log.
  public var description: String { "The rule for writes did not decide: \(detail)." }
}
