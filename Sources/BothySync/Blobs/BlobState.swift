public import Foundation

/// The location of a blob's bytes.
///
/// ```swift
/// switch try store.blobs.state(of: photo.image) {
/// case .local: show("on this device")
/// case .uploading(let sent, let size): show("\(sent) of \(size) bytes sent")
/// case .remote: show("on the server")
/// case .missing: show("on neither")
/// }
/// ```
public enum BlobState: Sendable, Hashable {
  /// They are on this device, and the server has not acknowledged a record that names them. A sync sends them
  /// before that record.
  case local
  /// They are on this device and partly on the server. Both numbers are bytes, as of the last answer.
  case uploading(sent: Int64, of: Int64)
  /// They are on the server at this address, and perhaps also on this device. A request to the address needs
  /// the token.
  case remote(URL)
  /// They are on neither, as far as this device knows. Reading them tries the server again, then throws
  /// `BothyError` `.blobMissing`.
  case missing
}
