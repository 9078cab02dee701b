package import struct Foundation.URL

/// The operations of a remote that also stores the bytes of blobs.
///
/// Every method is one round trip, may be called from any task, and throws `RemoteError` only. It may be repeated
/// without effect, because a blob is named by its content.
package protocol BlobRemote: Sendable {
  /// Returns how much of a blob the server has.
  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding

  /// Like `holding(of:)`, but the server first reads all of the blob's bytes. Called after a download whose bytes don't
  /// match the name. A server that can't do this answers like `holding(of:)`.
  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding

  /// Sends a part of a blob. Returns how much the server has then. It accepts the part only if it continues the earlier
  /// ones, so a request whose answer was lost may be repeated.
  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding

  /// Returns the bytes of a range, fewer only at the end of the blob. Throws `.notFound` if the server doesn't have the
  /// blob.
  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8]

  /// Returns the blob's address, without a request.
  func url(of sha256: String) -> URL
}

extension BlobRemote {
  /// Calls `holding(of:)`.
  package func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await holding(of: sha256)
  }
}

/// The blobs of one file's own server. Each call has a time limit, and is made in the name of the file, so that another
/// server or user gets no bytes of it.
struct BoundBlobs: BlobRemote {
  let remote: any BlobRemote
  let file: BoundRemote

  func holding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await file.asking { () throws(RemoteError) in try await remote.holding(of: sha256) }
  }

  func verifiedHolding(of sha256: String) async throws(RemoteError) -> BlobHolding {
    try await file.asking { () throws(RemoteError) in try await remote.verifiedHolding(of: sha256) }
  }

  func upload(_ part: BlobPart) async throws(RemoteError) -> BlobHolding {
    try await file.asking { () throws(RemoteError) in try await remote.upload(part) }
  }

  func download(_ sha256: String, _ range: Range<Int64>) async throws(RemoteError) -> [UInt8] {
    try await file.asking { () throws(RemoteError) in try await remote.download(sha256, range) }
  }

  func url(of sha256: String) -> URL { remote.url(of: sha256) }
}

extension RemoteError {
  /// True if the server refused the file, whatever it was asked.
  var isAboutFile: Bool {
    [BoundRemote.otherServer, BoundRemote.signedOutCode, "wrongPrincipal"].contains(code)
  }
}
