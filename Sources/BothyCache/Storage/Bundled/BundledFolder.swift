internal import Foundation
internal import HTTPTypes

/// Resources that came with the app as plain files: `{folder}/{source}/{path}`. Never written.
///
/// What a `FileBlobStore` wrote into `{folder}/tiledb` is found as well, with all that was known of it. A plain file
/// counts as an answer 200 that came when the file says, or at `receivedAt`; how long it is fresh is for the source's
/// rule to say.
public struct BundledFolder: BlobReader {
  private let folder: String
  private let fileExtension: String
  private let receivedAt: Int64?
  private let contentType: String?
  private let files: EntryFolder
  private let sources: SourceBook

  /// - Parameters:
  ///   - fileExtension: what the names of the files have behind the path, without the dot.
  ///   - receivedAt: the age of everything in it, in milliseconds since 1970; nil for the dates of the files.
  ///   - contentType: what the files are, for the field `Content-Type`.
  public init(
    _ folder: String, fileExtension: String? = nil, receivedAt: Int64? = nil, contentType: String? = nil
  ) {
    self.folder = folder
    self.fileExtension = fileExtension.map { "." + $0 } ?? ""
    self.receivedAt = receivedAt
    self.contentType = contentType
    files = EntryFolder(folder)
    sources = SourceBook(folder: files.tree)
  }

  /// At most two opens. Nil when there is nothing, or it is damaged.
  public func entry(_ key: ResourceKey) throws -> CacheEntry? {
    if let path = plainPath(key), let content = try FileBytes.whole(path) {
      let metadata = metadata(path)
      return CacheEntry(metadata: metadata, body: content.data(content.bytes.count))
    }
    if case .entry(let entry) = try files.read(key, sources.source(key.source)) { return entry }
    return nil
  }

  public func metadata(_ key: ResourceKey) throws -> EntryMetadata? {
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
      validatedAt: time, freshness: FreshnessTerms(lifetime: 0))
  }

  /// When a file was last written, in milliseconds since 1970; 0 for one that is gone.
  private static func modified(_ path: [UInt8]) -> Int64 {
    // Gone: no attributes.
    let attributes = try? FileManager.default.attributesOfItem(atPath: path.pathText)
    let date = attributes?[.modificationDate] as? Date
    return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) } ?? 0
  }

  /// The path of a plain file, closed by a zero; nil for a key that would not stay in the folder.
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
