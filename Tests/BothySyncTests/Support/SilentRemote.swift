import BothyStore
import BothySync
import BothyTesting
import Foundation

/// A server that accepts every request and answers none, and a remote that doesn't notice cancellation.
final class SilentRemote: CompleteRemote {
  private let latch = Latch()

  /// Makes all waiting requests fail.
  func end() { latch.open() }

  private func silence<Value>() async throws(RemoteError) -> Value {
    await latch.pass()
    throw FaultyRemote.unreachable
  }

  func exchange(_ request: SyncRequest) async throws(RemoteError) -> SyncResponse { try await silence() }
  func query(_ query: AnyQuery) async throws(RemoteError) -> [ServerRecord] { try await silence() }
  func count(_ query: AnyQuery) async throws(RemoteError) -> Int { try await silence() }
  func digest(_ scope: SyncScope) async throws(RemoteError) -> ScopeDigest { try await silence() }
  func history(_ query: HistoryQuery) async throws(RemoteError) -> ChangeHistory { try await silence() }
  func notifications() -> AsyncThrowingStream<Void, any Error> { AsyncThrowingStream { $0.finish() } }
  var blobs: (any BlobRemote)? { SilentBlobs(silence: { await self.latch.pass() }) }
}

private struct SilentBlobs: BlobRemote {
  let silence: @Sendable () async -> Void

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    await silence()
    throw FaultyRemote.unreachable
  }
  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    await silence()
    throw FaultyRemote.unreachable
  }
  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    await silence()
    throw FaultyRemote.unreachable
  }
  func url(of sha256: String) -> URL { URL(fileURLWithPath: "/dev/null") }
}
