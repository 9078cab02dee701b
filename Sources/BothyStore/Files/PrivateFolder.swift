import Foundation

/// Folders that only their owner can use.
package enum PrivateFolder {
  /// Creates a folder and its missing parents. Leaves an existing folder unchanged. Throws `BothyError` `cannotOpen`.
  package static func make(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw BothyError(
        .cannotOpen, "The folder \(path) can't be made. Check the rights of the folder above.",
        underlying: error)
    }
  }
}
