/// Readers of resources that came with the app, for `ResourceCache`. They never write.
public enum BundledResources {
  /// Returns the plain files of a folder: `{folder}/{source}/{path}`.
  ///
  /// Entries in a folder of `DiskTier.files` are found as well, with their metadata.
  /// A file counts as a response with status 200, which came at `receivedAt`. The source's rule decides on its lifetime.
  /// A read opens at most two files.
  ///
  /// - Parameters:
  ///   - fileExtension: the extension of the files after the path, without the dot.
  ///   - receivedAt: the time of arrival of all files, in milliseconds since 1970, or `nil` for the dates of the files.
  ///   - contentType: the value of the field `Content-Type` for the files.
  public static func folder(
    _ folder: String, fileExtension: String? = nil, receivedAt: Int64? = nil, contentType: String? = nil
  ) -> any BlobReader {
    BundledFolder(folder, fileExtension: fileExtension, receivedAt: receivedAt, contentType: contentType)
  }

  /// Returns the resources in one file, as `ResourceCache.export` writes it. A read takes one look-up.
  ///
  /// Throws `BothyError`, with `.newerFile` or `notADatabase` if this version can't read the file.
  public static func file(_ path: String) throws -> any BlobReader { try BundledFile(path) }
}
