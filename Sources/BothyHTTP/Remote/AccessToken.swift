/// A token, and when it ends if that is known. Its value is in no description.
public struct AccessToken: Sendable, Hashable {
  /// What goes behind `Bearer` in requests.
  public var value: String
  /// In milliseconds since 1970; a new one is asked for before that.
  public var expiresAt: Int64?

  /// - Parameter expiresAt: in milliseconds since 1970; nil when nobody knows: a new token is then asked for when the
  ///   server answers 401.
  public init(_ value: String, expiresAt: Int64? = nil) {
    self.value = value
    self.expiresAt = expiresAt
  }
}

extension AccessToken: CustomStringConvertible, CustomDebugStringConvertible {
  public var description: String { expiresAt.map { "a token until \($0)" } ?? "a token" }
  public var debugDescription: String { description }
}
