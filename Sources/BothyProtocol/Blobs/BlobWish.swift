/// The name by which a server requests a blob that it lacks: a checksum of the blob's own name.
///
/// A client that knows the name of a blob may read it. Only devices that have the blob recognize this one.
package enum BlobWish {
  package static func name(of sha256: String) -> String {
    String(ContentFile.sha256(of: Array("wanted \(sha256)".utf8)).prefix(32))
  }
}
