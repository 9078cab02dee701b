/// The reason why a server refuses a request for a blob.
package struct BlobError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The kind of problem. The raw value is the code of the answer.
  package enum Code: String, Sendable, Hashable {
    /// The name is not a SHA-256 in lower-case hexadecimal, or the part does not fit the size.
    case invalid = "invalidBlob"
    /// The space doesn't have the blob, or not all of it yet.
    case notFound
    /// The blob has more bytes than `BlobLimits.largest`.
    case tooLarge = "blobTooLarge"
    /// The space has no room for the blob.
    case quotaExceeded
    /// The bytes do not have the checksum that names them.
    case checksumMismatch
    /// The server stores no blobs.
    case unsupported = "blobsUnsupported"
  }

  /// The code that callers branch on. Over HTTP it decides the status of the answer.
  package var code: Code
  /// A message for people, with what was wrong and what to do. It is sent with the answer.
  package var message: String

  /// - Parameter message: a sentence that the sender of the request may read.
  package init(_ code: Code, _ message: String) {
    self.code = code
    self.message = message
  }

  package var description: String { message }
}
