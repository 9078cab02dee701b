internal import BothyStore
internal import GRDB

/// Resources that came with the app in one file, as `DiskCache.Store.export(to:)` writes it.
///
/// The file is never written. It needs no lock, no log and no file beside it, so its folder may be read-only.
package final class BundledFile: DiskCache.Reader {
  private let index: IndexFile
  private let files: EntryFolder
  private let sources: SourceBook
  /// True if an earlier version exported the file, in format 2.
  private let isEarlier: Bool

  /// Opens the file. Throws `BothyError`, with `.newerFile` or `notADatabase` if this version can't read it.
  package init(_ path: String) throws {
    files = EntryFolder(path + "-large")
    sources = SourceBook(folder: files.tree)
    guard FileBytes.size(path) != nil else { throw DiskError.make(2, path) }
    do {
      index = try IndexFile(immutable: path)
      switch try index.read({ try IndexSchema.verdict($0) }) {
      case .known: isEarlier = false
      case .older: isEarlier = true
      case .new: throw BothyError(.notADatabase, "\(path) has no entries' tables. Make it with export(to:).")
      case .foreign(let reason, _):
        throw BothyError(.newerFile, "\(path) can't be read: \(reason). Export it again with this version.")
      }
    } catch {
      throw BothyError(error, path: path)
    }
  }

  /// Returns the entry with one look-up, or `nil` if it is missing or damaged.
  package func entry(_ key: ResourceKey) throws -> CacheEntry? {
    let source = sources.source(key.source)
    if isEarlier { return try earlierEntry(key, source) }
    switch try index.look({ try RowReader.entry(key, source, in: &$0) }) {
    case .here(let entry): return entry.unpacked
    case .large(let metadata, let name):
      return try files.body(name).flatMap { CacheEntry(metadata: metadata, body: $0).unpacked }
    case .inFile:
      if case .entry(let entry) = try files.read(key, source) { return entry }
      return nil
    case .damaged, .nothing: return nil
    }
  }

  package func metadata(_ key: ResourceKey) throws -> EntryMetadata? {
    let source = sources.source(key.source)
    if isEarlier { return try earlierEntry(key, source)?.metadata }
    switch try index.look({ try RowReader.metadata(key, source, in: &$0) }) {
    case .here(let metadata), .large(let metadata, _): return metadata.ofContent
    case .inFile:
      let file = try files.describe(files.path(key, source), sources)
      return file?.key == key ? file?.metadata : nil
    case .damaged, .nothing: return nil
    }
  }

  private func earlierEntry(_ key: ResourceKey, _ source: KnownSource) throws -> CacheEntry? {
    let found = try index.read { database in
      try QuarantinedIndex.Entry(
        source.earlierNumber(of: key), in: database, sources, of: QuarantinedIndex.earlier(""),
        hasVariants: true)
    }
    guard let found, found.key == key else { return nil }
    if let body = found.body, let metadata = found.metadata {
      return CacheEntry(metadata: metadata, body: body)
    }
    if case .entry(let entry) = try files.read(key, source) { return entry }
    return nil
  }
}
