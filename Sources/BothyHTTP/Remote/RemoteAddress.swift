import BothyStore
package import BothySync

/// Where a database's server is: kept in the database file, so that a tool needs only the file.
///
/// The token is a secret; it is in no description and in no log.
package struct RemoteAddress: Sendable, Hashable {
  package var url: String
  package var space: String
  package var token: String?
  /// True if the address may be without TLS and not this machine's.
  package var allowsHTTP: Bool

  package init(url: String, space: String, token: String?, allowsHTTP: Bool = false) {
    self.allowsHTTP = allowsHTTP
    self.url = url
    self.space = space
    self.token = token
  }

  /// The address in the file at `path`, nil when it has none. Opens the file for reading only.
  /// Throws `BothyError`.
  package static func stored(at path: String) throws -> RemoteAddress? {
    try SyncValues.reading(path, LocalStore.storedSchema(at: path), stored)
  }

  private static func stored(in transaction: ReadTransaction) throws -> RemoteAddress? {
    guard let url = try SyncValues.value("remote.url", in: transaction),
      let space = try SyncValues.value("remote.space", in: transaction)
    else { return nil }
    return RemoteAddress(
      url: url, space: space, token: try SyncValues.value("remote.token", in: transaction),
      allowsHTTP: try SyncValues.value("remote.http", in: transaction) != nil)
  }

  fileprivate func save(in transaction: WriteTransaction) throws {
    try SyncValues.set("remote.url", url, in: transaction)
    try SyncValues.set("remote.space", space, in: transaction)
    if let token { try SyncValues.set("remote.token", token, in: transaction) }
    if token == nil { try SyncValues.remove("remote.token", in: transaction) }
    if allowsHTTP { try SyncValues.set("remote.http", "1", in: transaction) }
    if !allowsHTTP { try SyncValues.remove("remote.http", in: transaction) }
  }
}

extension RemoteAddress: CustomStringConvertible, CustomDebugStringConvertible {
  package var description: String { "\(url) (space \(space))" }
  package var debugDescription: String { description }
}

extension SyncedStore {
  /// Remembers the server's address in the file. One transaction.
  package func remember(_ address: RemoteAddress) throws {
    try store.write(origin: .remote) { try address.save(in: $0) }
  }
}
