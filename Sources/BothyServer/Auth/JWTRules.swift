/// The rules for JSON Web Tokens: which of them are accepted, and what their claims mean.
public struct JWTRules: Sendable, Hashable {
  /// The required value of `iss`, or `nil` for any issuer that has the key.
  public var issuer: String?
  /// The value that `aud` has to equal or contain, or `nil` for any.
  public var audience: String?
  /// The claim that names the user. If no claim has the whole name, dots lead into objects.
  public var principalClaim: String
  /// The claim with the user's groups: an array of names, or one name.
  public var groupsClaim: String
  /// The claim with the spaces that the token opens: an array of names, or one name. `*` means all spaces. With braces it
  /// is a template for the name of a space, or several with commas: `user-{sub}` is a space for each user.
  public var spacesClaim: String
  /// The largest accepted difference between the clocks of issuer and server, at most five minutes.
  public var leeway: Duration {
    didSet { leeway = Self.bounded(leeway) }
  }

  /// Creates rules. The defaults accept any issuer and audience, read the claims `sub`, `groups` and `spaces`, and
  /// allow clocks to differ by 30 seconds.
  ///
  /// A leeway below zero or above five minutes is clamped to that range.
  public init(
    issuer: String? = nil, audience: String? = nil, principalClaim: String = "sub",
    groupsClaim: String = "groups", spacesClaim: String = "spaces", leeway: Duration = .seconds(30)
  ) {
    self.issuer = issuer
    self.audience = audience
    self.principalClaim = principalClaim
    self.groupsClaim = groupsClaim
    self.spacesClaim = spacesClaim
    self.leeway = Self.bounded(leeway)
  }

  private static func bounded(_ leeway: Duration) -> Duration { max(.zero, min(leeway, .seconds(300))) }
}
