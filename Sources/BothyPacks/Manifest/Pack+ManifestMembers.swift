import BothyStore

/// The JSON form of a manifest for command-line tools.
extension Pack.Manifest {
  /// Writes the members of the manifest, then `digest, rows, bytes`.
  package func writeMembers(to writer: inout JSONWriter) {
    for (name, value) in (json.objectValue ?? [:]).sorted(by: { $0.key < $1.key }) {
      writer.member(name, value)
    }
    writer.member("digest", digest)
    writer.member("rows", rows)
    writer.member("bytes", bytes)
  }
}
