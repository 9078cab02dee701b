import Foundation

/// The identity of an opened file, to detect that its path leads to another file.
package struct OpenedFile: Sendable {
  private let path: String?
  private let device: UInt64
  private let inode: UInt64

  /// Creates the identity of the file at `path`.
  ///
  /// - Parameter path: Nil for a store in memory, which is never gone.
  package init(_ path: String?) {
    let found = path.flatMap(Self.look)
    self.path = found == nil ? nil : path
    device = found?.device ?? 0
    inode = found?.inode ?? 0
  }

  /// True if the file was removed, or another one was put in its place. One system call.
  package var isGone: Bool {
    guard let path else { return false }
    guard let now = Self.look(path) else { return true }
    return now.device != device || now.inode != inode
  }

  /// Throws `BothyError` `.cannotOpen` if the file is gone, so that the next opening can't find new changes. Costs one
  /// system call.
  package func check() throws(BothyError) {
    guard let path, isGone else { return }
    throw BothyError(
      .cannotOpen,
      "The file \(path) was removed or replaced while it was open, so writes can't be kept. Close the store and open "
        + "the file again.")
  }

  private static func look(_ path: String) -> (device: UInt64, inode: UInt64)? {
    var found = stat()
    guard stat(path, &found) == 0 else { return nil }
    return (UInt64(truncatingIfNeeded: found.st_dev), UInt64(truncatingIfNeeded: found.st_ino))
  }
}
