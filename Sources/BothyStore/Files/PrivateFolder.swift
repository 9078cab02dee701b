import Foundation

/// Folders that are their owner's alone.
package enum PrivateFolder {
  /// Makes a folder and those above it; one that is there stays as it is. Throws `StoreError` `.cannotOpen`.
  package static func make(_ path: String) throws {
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    } catch {
      throw StoreError(
        .cannotOpen, "The folder \(path) can't be made. Check the rights of the folder above.",
        underlying: error)
    }
  }
}
