import Crypto

/// The owner of a file's data: one user in one space.
///
/// Each sync names it. A server that knows the token as another user's refuses the request.
///
/// ```swift
/// let ada = AccountID(space: "home", user: "ada")
/// let store = try SyncedStore(at: path, schema: [Todo.self], remote: remote, owner: ada)
/// ```
public struct AccountID: Sendable, Hashable, CustomStringConvertible {
  /// The name of the space on the server: 1 to 128 bytes. It should be that of the remote.
  public var space: String
  /// The name by which the server knows the user, as in the token. Another user's token is refused by the
  /// server.
  public var user: String

  /// Makes an id, without a look-up. An account exists after `AccountFolder.open` has created its file.
  ///
  /// Neither name is checked.
  public init(space: String, user: String) {
    self.space = space
    self.user = user
  }

  public var description: String { "\(user) in \(space)" }

  /// The name of the account's file. It has one length for all accounts, differs between accounts on every file system,
  /// and doesn't reveal the user.
  var fileName: String {
    let digest = SHA256.hash(data: Array("\(space)\u{0}\(user)".utf8))
    return digest.prefix(16).hexadecimal + ".bothy"
  }
}
