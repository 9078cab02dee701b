package import Foundation

/// A folder that is deleted together with this object.
///
/// A test keeps it in a constant for as long as it uses the files.
package final class TemporaryFolder: Sendable {
  package let path: String

  /// Creates an empty folder.
  package init() throws {
    path = NSTemporaryDirectory() + "bothy-" + UUID().uuidString
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit {
    try? FileManager.default.removeItem(atPath: path)  // It may be deleted already.
  }

  package var url: URL { URL(filePath: path, directoryHint: .isDirectory) }

  /// The path of a database that a test may create.
  package var database: String { file("test.bothy") }

  package func file(_ name: String) -> String { path + "/" + name }

  package func url(_ name: String) -> URL { URL(filePath: file(name)) }

  /// Returns the names in a folder. A missing folder has none.
  package func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []  // a missing folder
  }
}
