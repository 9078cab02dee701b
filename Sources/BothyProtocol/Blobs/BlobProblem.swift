/// Why a server refuses a request for a blob.
public struct BlobProblem: Error, Sendable, Hashable, CustomStringConvertible {
  /// What was wrong. The raw value is the word that the answer has as its code.
  public enum Code: String, Sendable, Hashable {
    /// The name is not a SHA-256 in lower-case hexadecimal, or the part does not fit the size.
    case invalid = "invalidBlob"
    /// The space has no such blob, or not all of it yet.
    case notFound
    /// It has more bytes than `BlobLimits.largest`.
    case tooLarge = "blobTooLarge"
    /// The space has no room for it.
    case quotaExceeded
    /// The bytes do not have the checksum that names them.
    case checksumMismatch
    /// The server keeps no blobs.
    case unsupported = "blobsUnsupported"
  }

  /// What callers branch on; over HTTP it decides the status of the answer.
  public var code: Code
  /// What was wrong and what to do, for people; goes out with the answer.
  public var message: String

  /// - Parameter message: a sentence that may be told to whoever sent the request.
  public init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  public var description: String { message }
}
