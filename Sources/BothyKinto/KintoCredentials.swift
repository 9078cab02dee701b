/// The authentication to a Kinto server.
public enum KintoCredentials: Sendable {
  /// Without credentials, for buckets that are open to all users.
  case none
  /// Kinto's accounts, or its plain basic authentication.
  case basic(user: String, password: String)
  /// A token of OpenID Connect or a similar protocol. The closure is called again after a 401.
  case bearer(@Sendable () async throws -> String?)
}
