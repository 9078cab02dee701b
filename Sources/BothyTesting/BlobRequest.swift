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
