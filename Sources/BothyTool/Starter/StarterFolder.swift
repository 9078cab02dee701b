import BothyStore
import Foundation

/// The folder of a new app. It gets all files or none.
struct StarterFolder {
  let path: String

  /// Throws if the path is a file, or a folder that has something in it.
  func checkIsFree() throws {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) else { return }
    guard isFolder.boolValue else {
      throw ToolError("\(path) is a file. Choose another name, or move the file away.")
    }
    guard try FileManager.default.contentsOfDirectory(atPath: path).isEmpty else { throw occupied }
  }

  private var occupied: ToolError {
    ToolError("The folder \(path) exists and has files in it. Choose another name, or move the files away.")
  }

  /// Writes the files to a temporary folder beside the path, and renames it.
  ///
  /// The rename replaces an empty folder and fails on any other, so files that appear meanwhile are safe.
  func write(_ files: [Starter.File]) throws {
    let new = ".\(path)-\(UUIDv7.make())"
    guard mkdir(new, 0o777) == 0 else { throw unwritable(errno) }
    do {
      for file in files { try Self.write(file, below: new) }
      guard rename(new, path) == 0 else {
        throw errno == ENOTEMPTY || errno == EEXIST ? occupied : unwritable(errno)
      }
    } catch {
      try? FileManager.default.removeItem(atPath: new)  // the first error is the one to report
      throw error
    }
  }

  private func unwritable(_ code: Int32) -> ToolError {
    let reason = String(cString: strerror(code))
    return ToolError("The folder \(path) can't be made: \(reason). Check the rights of the current folder.")
  }

  private static func write(_ file: Starter.File, below folder: String) throws {
    let url = URL(filePath: folder).appending(path: file.path)
    try FileManager.default.createDirectory(
      at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
    if file.isPrivate { _ = try PrivateFile.create(at: "\(folder)/\(file.path)") }
    do {
      // Overwriting in place keeps the rights of a private file.
      try Data(file.bytes).write(to: url)
    } catch {
      throw ToolError("\(file.path) can't be written. Free some space, or check the current folder.")
    }
  }
}
