/// The rules for JSON Web Tokens: which of them are accepted, and what their claims mean.
///
/// A token needs `exp`, in seconds since 1970, and `nbf` counts if it is there. It has 16 KiB and 256 groups
/// at most.
public struct JWTRules: Sendable, Hashable {
  /// The required value of `iss`, or `nil` for any issuer that has the key.
  ///
  /// With `nil`, an issuer that the provider's metadata names is required.
  public var issuer: String?
  /// The value that `aud` has to equal or contain, or `nil` for any.
  ///
  /// Set it if the provider issues tokens for other services too. With `nil` those are accepted here.
  public var audience: String?
  /// The claim that names the user. If no claim has the whole name, dots lead into objects.
  ///
  /// The name is text of 1 to 512 bytes in NFC, not beginning with `group:`. A token without it is refused.
  public var userClaim: String
  /// The claim with the user's groups: an array of names, or one name. A token without it has no groups.
  public var groupsClaim: String
  /// The claim with the spaces that the token opens: an array of names, or one name. A token without it opens
  /// none.
  ///
  /// `*` means all spaces. With braces it is a template for the name of a space, or several with commas:
  /// `user-{sub}` is a space for each user. A token without a claim of a template is refused. So is one in which a claim
  /// before another one has the character that follows it in the template. No claim may have a slash, so `{org}/{sub}`
  /// refuses none for that. With a `SpaceCallout` the claim is ignored.
  public var spacesClaim: String
  /// The largest accepted difference between the clocks of issuer and server, from zero to five minutes.
  ///
  /// It counts for `exp` and `nbf`. A value beyond the range is clamped.
  public var leeway: Duration {
    didSet { leeway = Self.bounded(leeway) }
  }

  /// Creates rules. The defaults accept any issuer and audience, read the claims `sub`, `groups` and `spaces`, and
  /// allow clocks to differ by 30 seconds.
  ///
  /// A leeway below zero or above five minutes is clamped to that range.
  public init(
    issuer: String? = nil, audience: String? = nil, userClaim: String = "sub",
    groupsClaim: String = "groups", spacesClaim: String = "spaces", leeway: Duration = .seconds(30)
  ) {
    self.issuer = issuer
    self.audience = audience
    self.userClaim = userClaim
    self.groupsClaim = groupsClaim
    self.spacesClaim = spacesClaim
    self.leeway = Self.bounded(leeway)
  }

  private static func bounded(_ leeway: Duration) -> Duration { max(.zero, min(leeway, .seconds(300))) }
}
