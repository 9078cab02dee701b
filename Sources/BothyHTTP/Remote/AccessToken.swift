/// A token, with its expiry if that is known. Its description does not contain its value.
///
/// ```swift
/// let remote = BothyRemote(
///   url: "https://bothy.example.org", space: "home",
///   accessToken: {
///     let text = try await session.token()
///     return AccessToken(text, expiresAt: Int64(session.expiry.timeIntervalSince1970 * 1000))
///   })
/// ```
public struct AccessToken: Sendable, Hashable {
  /// The value after `Bearer` in requests. It is a secret, so log none of it.
  public var value: String
  /// The expiry in milliseconds since 1970, or `nil` if it is unknown.
  ///
  /// A new token is requested a minute before it, or halfway to it if less than two minutes are left. If the
  /// request fails, the old token serves until it expires. An expiry that has passed when the token comes
  /// counts as unknown, because the device's clock may be wrong.
  public var expiresAt: Int64?

  /// Creates a token. Neither the value nor the expiry is checked.
  ///
  /// - Parameter expiresAt: the expiry in milliseconds since 1970, or `nil` if it is unknown. A new token is
  ///   then requested after a 401.
  public init(_ value: String, expiresAt: Int64? = nil) {
    self.value = value
    self.expiresAt = expiresAt
  }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { expiresAt.map { "a token until \($0)" } ?? "a token" }
  public var debugDescription: String { description }
}
