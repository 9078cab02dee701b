import BothyProtocol
import BothyStore

extension SyncService {
  /// Throws `SyncServiceError` `.otherServer` or `.wrongPrincipal` for a request from a file of another server, space or
  /// user. Reads nothing.
  package func check(
    _ file: FileIdentity, space: String, user: Caller
  ) throws(SyncServiceError) {
    if let server = file.server, let known = file.space, server != storage.identity || known != space {
      let (then, now) = (
        ServerHistory(server: server, space: known, epoch: ""),
        ServerHistory(server: storage.identity, space: space, epoch: "")
      )
      throw SyncServiceError(.otherServer, then.refusal(now))
    }
    if let owner = file.user, let name = user.name, !owner.hasSameBytes(as: name) {
      throw SyncServiceError(
        .wrongPrincipal,
        "This is the file of '\(owner)', and the token is that of '\(name)'. Nothing was read.")
    }
  }
}
