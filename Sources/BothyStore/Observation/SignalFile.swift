import Foundation
import Synchronization

/// This store's file in the folder `<database>-signals`: written one byte after each commit, locked while the
/// store is open so that others can tell it from one left behind.
///
/// Made when first needed; made again when someone has deleted it or its folder.
final class SignalFile: Sendable {
  let folder: String
  let name: String
  /// -1 while there is no file.
  private let descriptor = Mutex<Int32>(-1)

  /// Whether several stores write to the same file, which none of them locks or deletes.
  private let isShared: Bool

  init(folder: String, name: String, isShared: Bool = false) {
    self.folder = folder
    self.name = name
    self.isShared = isShared
  }

  /// Writes one byte. Two system calls, 1 to 2 µs, on the thread that wrote. Failures are passed over: there
  /// is no folder to signal in, and the commit stands.
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

  /// Makes the file if there is none. False if it can't be made.
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

  /// Deletes the file, and the folder when it was the last.
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
    let names = try? FileManager.default.contentsOfDirectory(atPath: folder)  // no folder: nothing is stale
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

  /// Makes and locks the file; -1 if that fails. Another store may take it for stale between the two, hence the
  /// second look.
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

  /// The folder of the database at `path`, the same by whatever link it is reached.
  static func folder(of path: String) -> String {
    URL(fileURLWithPath: path).resolvingSymlinksInPath().path + "-signals"
  }
}
