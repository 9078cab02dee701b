import BothyStore
import BothySync
import BothySyncService
import Foundation

/// The sync service and its storage in this process. Every request and response is written and read as JSON, like over
/// HTTP: all of a sync but the sockets.
struct InProcessRemote: RemoteStorage {
  let service: SyncService
  let user = Caller("bench")

  init(_ path: String) throws {
    service = SyncService(storage: try SQLiteServerStorage(at: path)) {
      Int64(Date().timeIntervalSince1970 * 1000)
    }
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse {
    do {
      let received = try SyncRequest(decoding: request.encoded())
      let answer = try await service.sync(space: "bench", user: user, received)
      return try SyncResponse(decoding: answer.encoded())
    } catch { throw RemoteError(.serverError, "\(error)") }
  }
}
