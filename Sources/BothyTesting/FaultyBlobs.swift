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

/// One request for a blob that a device has made.
///
/// Blobs are named by the SHA-256 of their bytes, 64 hexadecimal digits. Offsets are bytes from 0. A blob of several
/// parts takes a request for each of them.
package enum BlobRequest: Sendable, Hashable {
  /// The request for the number of bytes of a blob that the server has. The blob is named by its SHA-256 in
  /// hexadecimal.
  ///
  /// An upload begins with it and continues from there. A device also sends it before it evicts its own copy.
  case holding(String)
  /// The upload of one part of a blob, with the offset of its first byte.
  ///
  /// After a lost answer a device requests the holding again, so parts that arrived aren't sent twice.
  case upload(String, offset: Int64)
  /// The download of one part of a blob, with the offset of its first byte.
  ///
  /// The end of the part isn't in the request's record.
  case download(String, offset: Int64)
}
