import Foundation
import Synchronization

/// This store's file in the folder `<database>-signals`. The store writes one byte to it after each commit. It is
/// locked while the store is open, so that others can distinguish it from an abandoned file.
///
/// Created when first needed, and again after it or its folder was deleted.
final class SignalFile: Sendable {
  let folder: String
  let name: String
  /// The descriptor of the file, or -1 without one.
  private let descriptor = Mutex<Int32>(-1)

  /// True if several stores write to the same file, which none of them locks or deletes.
  private let isShared: Bool

  init(folder: String, name: String, isShared: Bool = false) {
    self.folder = folder
    self.name = name
    self.isShared = isShared
  }

  /// Writes one byte. Costs two system calls, 1 to 2 µs, on the thread that wrote. Ignores failures: without a folder
  /// the signal is lost, and the commit is still valid.
  func touch() {
    descriptor.withLock { descriptor in
      if descriptor < 0 { descriptor = makeFile() }
      guard descriptor >= 0 else { return }
      write(descriptor)
      guard Self.isDeleted(descriptor) else { return }
      _ = Foundation.close(descriptor)
      descriptor = makeFile()
      if descriptor >= 0 { write(descriptor) }
    }
  }

  /// Creates the file if it doesn't exist. Returns false if that fails.
  func ensure() -> Bool {
    descriptor.withLock { descriptor in
      if descriptor >= 0 && Self.isDeleted(descriptor) {
        _ = Foundation.close(descriptor)
        descriptor = -1
      }
      if descriptor < 0 { descriptor = makeFile() }
      return descriptor >= 0
    }
  }

  /// Deletes the file, and the folder if that is now empty.
  func remove() {
    descriptor.withLock { descriptor in
      guard descriptor >= 0 else { return }
      if !isShared { unlink(folder + "/" + name) }
      _ = Foundation.close(descriptor)
      descriptor = -1
      if !isShared { rmdir(folder) }
    }
  }

  /// Deletes the files that no open store holds.
  static func removeStale(in folder: String) {
    // Without a folder no file is stale.
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)
    for name in names ?? [] {
      let path = folder + "/" + name
      let file = open(path, O_RDWR | O_CLOEXEC)
      guard file >= 0 else { continue }
      if flock(file, LOCK_EX | LOCK_NB) == 0 { unlink(path) }
      _ = Foundation.close(file)
    }
  }

  private func write(_ descriptor: Int32) {
    var byte: UInt8 = 1
    _ = pwrite(descriptor, &byte, 1, 0)
  }

  /// Creates and locks the file. Returns -1 if that fails. Another store may delete it as stale between the two steps,
  /// so the file is checked again.
  private func makeFile() -> Int32 {
    for _ in 0..<3 {
      mkdir(folder, 0o777)
      let file = open(folder + "/" + name, O_CREAT | O_RDWR | O_CLOEXEC, 0o666)
      guard file >= 0 else { continue }
      if (isShared || flock(file, LOCK_EX) == 0) && !Self.isDeleted(file) { return file }
      _ = Foundation.close(file)
    }
    return -1
  }

  private static func isDeleted(_ descriptor: Int32) -> Bool {
    var status = stat()
    return fstat(descriptor, &status) == 0 && status.st_nlink == 0
  }

  /// Returns the signal folder of the database at `path`, independent of symbolic links.
  static func folder(of path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-signals"
  }
}
