internal import BothyStore
internal import Foundation

/// Room on the disk for removals: a file of fixed size beside the index, which a store gives up when the disk is full.
///
/// SQLite writes a removal into its log before it frees anything. Without this file, no entry could be removed on a disk
/// with no byte left. All processes share the file. Call what changes it with the store's lock held.
struct HeldRoom: Sendable {
  /// The size of the file. The logs and shared memory of two databases fit in it, with the shortest step of a removal.
  static let size: Int64 = 256 << 10
  /// The bytes of entries from which on a store holds room.
  static let leastStored = 16 * size
  /// The bytes that stay free beside a new file.
  private static let margin: Int64 = 64 << 10

  let path: String

  /// The bytes that the file takes.
  var bytes: Int64 { FileBytes.size(path) ?? 0 }

  var isHeld: Bool { bytes == Self.size }

  /// Deletes the file.
  func giveUp() { unlink(path) }

  /// Creates the file, unless it exists or the disk has too little room for it.
  func hold() {
    if isHeld { return }
    // A kill leaves a shorter one.
    giveUp()
    guard Self.free(beside: path) >= Self.size + Self.margin else { return }
    // Some disks compress zeros to nothing.
    var generator = SystemRandomNumberGenerator()
    let words = (0..<Self.size / 8).map { _ in generator.next() as UInt64 }
    let bytes = words.withUnsafeBytes { Data($0) }
    do { try FileBytes.write(Array(path.utf8) + [0], bytes, []) } catch { return giveUp() }
    CacheFolder.exclude(path)
  }

  /// Returns the bytes that a file beside `path` may take, or the highest number if that isn't known.
  static func free(beside path: String) -> Int64 {
    var system = statvfs()
    let folder = (path as NSString).deletingLastPathComponent
    guard statvfs(folder.isEmpty ? "." : folder, &system) == 0 else { return .max }
    return Int64(system.f_bavail) * Int64(system.f_frsize)
  }
}
