package import BothyCache
import BothyStore

/// The names and the attribution that archives state.
extension SourceNames {
  /// Takes what is empty from an archive.
  mutating func complete(name: String?, attribution: String?) {
    if short.isEmpty { short = name ?? "" }
    if long.isEmpty { long = name ?? "" }
    if self.attribution.isEmpty { self.attribution = attribution ?? "" }
  }
}

extension ResourceCache {
  /// Gives a source that is an archive on a server what the archive states, where its own names are empty.
  ///
  /// Reads the archive's document like any other resource. Without it the names stay as they are.
  package func learnNames(of id: SourceID, policy: ReadPolicy = .localElseRemote) async {
    guard var source = source(id), source.container is RemoteArchive, source.names.attribution.isEmpty,
      // The source is registered again at the next attempt.
      let bytes = try? await value(ResourceKey(id, path: TileArchiveInfo.documentPath), policy: policy).bytes,
      let document = try? JSONValue(parsing: bytes)
    else { return }
    source.names.complete(
      name: document["name"]?.stringValue, attribution: document["attribution"]?.stringValue)
    // A source of another address can't have its id.
    try? register(source)
  }
}
