internal import Synchronization

/// The open files of a pack: the index, and the shards used last.
final class PackFiles: Sendable {
  private struct Entry {
    let file: PackFile
    var use: UInt64
  }

  private struct State {
    var shards: [Int: Entry] = [:]
    var use: UInt64 = 0
    var isClosed = false
  }

  let index: PackFile
  private let manifest: Pack.Manifest
  private let folder: String
  private let options: Pack.Options
  private let state = Mutex(State())

  init(_ manifest: Pack.Manifest, in folder: String, _ options: Pack.Options) {
    self.manifest = manifest
    self.folder = folder
    self.options = options
    index = PackFile(manifest.files[0], of: manifest, in: folder, options)
  }

  /// Returns the shard at a position among the manifest's files. Above the limit, it replaces the least recently used
  /// shard, which is closed as soon as no read uses it.
  func shard(_ position: Int) throws -> PackFile {
    // The replaced shard is released outside of the lock, because that closes a file.
    let (file, _) = state.withLock { state -> (PackFile?, PackFile?) in
      guard !state.isClosed else { return (nil, nil) }
      state.use += 1
      if let known = state.shards[position] {
        state.shards[position]?.use = state.use
        return (known.file, nil)
      }
      var leaving: PackFile?
      if state.shards.count >= options.openShards,
        let oldest = state.shards.min(by: { $0.value.use < $1.value.use })
      {
        leaving = state.shards.removeValue(forKey: oldest.key)?.file
      }
      let file = PackFile(manifest.files[position], of: manifest, in: folder, options)
      state.shards[position] = Entry(file: file, use: state.use)
      return (file, leaving)
    }
    guard let file else { throw BothyError(.closed, "The pack \(manifest.name) is closed. Open it again.") }
    return file
  }

  /// Releases the shards. Later calls of `shard(_:)` throw.
  func close() {
    let leaving = state.withLock { state in
      state.isClosed = true
      defer { state.shards = [:] }
      return state.shards.values.map(\.file)
    }
    _ = leaving
  }
}
