/// Readers of resources that came with the app, for `ResourceCache`. They never write.
///
/// ```swift
/// let shipped = BundledResources.folder(folder.path, fileExtension: "png", contentType: "image/png")
/// let cache = try ResourceCache(sources: [tiles], bundled: [shipped], loader: .system)
/// ```
///
/// The cache looks in them if its disk has no fresh entry, and uses a resource that is newer than that entry.
public enum BundledResources {
  /// Returns the plain files of a folder: `{folder}/{source}/{path}`.
  ///
  /// Entries in a folder of `DiskCache.folder` are found as well, with their metadata. A file counts as a response with
  /// status 200, which came at `receivedAt`. The source's rule decides on its lifetime. Under `FreshnessRule.http` it
  /// is stale at once. A read opens at most two files. Creating the reader opens none, so a missing folder has no
  /// resources.
  ///
  /// - Parameters:
  ///   - fileExtension: the extension of the files after the path, without the dot.
  ///   - receivedAt: the time of arrival of all files, in milliseconds since 1970, or `nil` for the dates of the files.
  ///   - contentType: the value of the field `Content-Type` for the files.
  public static func folder(
    _ folder: String, fileExtension: String? = nil, receivedAt: Int64? = nil, contentType: String? = nil
  ) -> any DiskCache.Reader {
    BundledFolder(folder, fileExtension: fileExtension, receivedAt: receivedAt, contentType: contentType)
  }

  /// Returns the resources in one file, as `ResourceCache.export` writes it. A read takes one look-up.
  ///
  /// Opens the file and blocks meanwhile. Its folder may be read-only. The folder `{path}-large` beside it has the
  /// large entries.
  ///
  /// - Throws: `BothyError`, with `.newerFile` or `notADatabase` if this version can't read the file, or `cannotOpen`
  ///   if it is missing.
  public static func file(_ path: String) throws -> any DiskCache.Reader { try BundledFile(path) }
}
