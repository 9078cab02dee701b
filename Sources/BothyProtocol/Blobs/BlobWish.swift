/// The name by which a server asks for a blob that it lacks: a checksum of the blob's own name.
///
/// Who knows the name of a blob may read it. This one is recognised by those alone who have the blob.
package enum BlobWish {
  package static func name(of sha256: String) -> String {
    String(ContentFile.sha256(of: Array("wanted \(sha256)".utf8)).prefix(32))
  }
}
