/// Which JSON Web Tokens open the server, and what their claims mean.
public struct JWTRules: Sendable, Hashable {
  /// What `iss` has to be; nil takes any issuer that has the key.
  public var issuer: String?
  /// What `aud` has to be or to hold; nil takes any.
  public var audience: String?
  /// The claim that names the principal. Dots lead into objects, where there is no claim of the whole name.
  public var principalClaim: String
  /// The claim with the principal's groups: names in an array, or one name.
  public var groupsClaim: String
  /// The claim with the spaces that are open: names in an array, or one name; `*` is all of them.
  public var spacesClaim: String
  /// How far the clocks of issuer and server may be apart; at most five minutes.
  public var leeway: Duration {
    didSet { leeway = Self.bounded(leeway) }
  }

  /// Unless told otherwise: any issuer and audience, the claims `sub`, `groups` and `spaces`, clocks 30 seconds apart.
  /// A leeway below zero or above five minutes is brought within.
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
