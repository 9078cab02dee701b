import BothySync
import struct Foundation.URL

/// The blob side of a `FaultyRemote`. It fails by a script of its own and records the requests.
struct FaultyBlobs: BlobRemote {
  let remote: any BlobRemote
  /// Records the request and returns its fault.
  let fault: @Sendable (BlobRequest) -> FaultyRemote.Fault
  /// A function that runs after the server has answered and before the device receives the answer.
  let afterwards: @Sendable (BlobRequest) async -> Void

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await pass(.holding(sha256)) { () async throws(RemoteError) in try await remote.holding(of: sha256) }
  }

  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await pass(.holding(sha256)) { () async throws(RemoteError) in
      try await remote.verifiedHolding(of: sha256)
    }
  }

  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    try await pass(.upload(part.sha256, offset: part.offset)) { () async throws(RemoteError) in
      try await remote.upload(part)
    }
  }

  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    try await pass(.download(sha256, offset: range.lowerBound)) { () async throws(RemoteError) in
      try await remote.download(sha256, range)
    }
  }

  func url(of sha256: String) -> URL { remote.url(of: sha256) }

  private func pass<Answer>(
    _ request: BlobRequest, _ send: () async throws(RemoteError) -> Answer
  ) async throws(RemoteError) -> Answer {
    switch fault(request) {
    case .lostRequest, .late: throw FaultyRemote.unreachable
    case .status(let status, let retryAfter):
      throw RemoteError(status: status, message: "The server answered \(status).", retryAfter: retryAfter)
        ?? FaultyRemote.unreachable
    case .lostAnswer:
      _ = try await send()
      await afterwards(request)
      throw FaultyRemote.unreachable
    case .duplicated:
      _ = try await send()
      return try await send()
    case .none:
      let answer = try await send()
      await afterwards(request)
      return answer
    }
  }
}
