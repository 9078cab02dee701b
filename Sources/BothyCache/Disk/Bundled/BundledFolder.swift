internal import Foundation
internal import HTTPTypes

/// Resources that came with the app as plain files: `{folder}/{source}/{path}`. Never written.
///
/// Entries that a `DiskStore` wrote into `{folder}/tiledb` are found as well, with their metadata. A plain file
/// counts as a response with status 200. The time of its arrival is that of the file, or `receivedAt`. The source's
/// rule decides on its lifetime.
package struct BundledFolder: DiskCache.Reader {
  private let folder: String
  private let fileExtension: String
  private let receivedAt: Int64?
  private let contentType: String?
  private let files: EntryFolder
  private let sources: SourceBook

  /// Opens the folder.
  /// - Parameters:
  ///   - fileExtension: the extension of the files after the path, without the dot.
  ///   - receivedAt: the time of arrival of all files, in milliseconds since 1970, or `nil` for the dates of the files.
  ///   - contentType: the value of the field `Content-Type` for the files.
  package init(
    _ folder: String, fileExtension: String? = nil, receivedAt: Int64? = nil, contentType: String? = nil
  ) {
    self.folder = folder
    self.fileExtension = fileExtension.map { "." + $0 } ?? ""
    self.receivedAt = receivedAt
    self.contentType = contentType
    files = EntryFolder(folder)
    sources = SourceBook(folder: files.tree)
  }

  /// Returns the entry after opening at most two files, or `nil` if it is missing or damaged.
  package func entry(_ key: ResourceKey) throws -> CacheEntry? {
    if let path = plainPath(key), let content = try FileBytes.whole(path) {
      let metadata = metadata(path)
      return CacheEntry(metadata: metadata, body: content.data(content.bytes.count))
    }
    if case .entry(let entry) = try files.read(key, sources.source(key.source)) { return entry }
    return nil
  }

  package func metadata(_ key: ResourceKey) throws -> EntryMetadata? {
    if let path = plainPath(key), let (end, _) = try FileBytes.end(path, 0) {
      end.free()
      return metadata(path)
    }
    let path = files.path(key, sources.source(key.source))
    let file = try files.describe(path, sources)
    return file?.key == key ? file?.metadata : nil
  }

  private func metadata(_ path: [UInt8]) -> EntryMetadata {
    let time = receivedAt ?? Self.modified(path)
    return EntryMetadata(
      status: 200, fields: contentType.map { [.contentType: $0] } ?? [:], requestedAt: time, receivedAt: time,
      validatedAt: time, freshness: FreshnessMetadata(lifetime: 0))
  }

  /// Returns the time of a file's last write in milliseconds since 1970, or 0 if it is gone.
  private static func modified(_ path: [UInt8]) -> Int64 {
    // A missing file has no attributes.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path.pathText)
    let date = attributes?[.modificationDate] as? Date
    return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) } ?? 0
  }

  /// Returns the path of a plain file, closed by a zero, or `nil` for a key that leads out of the folder.
  private func plainPath(_ key: ResourceKey) -> [UInt8]? {
    let components = [key.source.name[...]] + key.path.split(separator: "/", omittingEmptySubsequences: false)
    let areSafe = components.allSatisfy { component in
      !component.isEmpty && component != "." && component != ".."
        && !component.utf8.contains { $0 == 0 || $0 == UInt8(ascii: "\\") }
    }
    guard areSafe, key.variant == 0, !key.source.name.contains("/") else { return nil }
    return Array("\(folder)/\(key.source.name)/\(key.path)\(fileExtension)".utf8) + [0]
  }
}
