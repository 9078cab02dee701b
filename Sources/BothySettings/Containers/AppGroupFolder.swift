import Foundation

/// A folder that the app and its extensions share.
///
/// ```swift
/// let shared = try AppGroupFolder(appGroup: "group.org.example.app")
/// let store = try SyncedStore(at: shared.path(of: "todos.bothy"), schema: [Todo.self], remote: remote)
/// ```
///
/// On Apple platforms it is the container of an App Group, on Linux a folder of the user's that is named after the
/// group; `AppGroupFolder(appGroup:)` is in a file of its own for each.
public struct AppGroupFolder: Sendable, Hashable {
  /// The path of the folder, as it was given, or that of the group's container.
  public let folder: String

  /// A folder that exists. Its existence and permission are checked once, on the calling thread.
  ///
  /// - Throws: `BothyError` `.noContainer` if it doesn't exist or isn't writable. Make it first, or choose another
  ///   one.
  public init(folder: String) throws(BothyError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: folder, isDirectory: &isFolder), isFolder.boolValue else {
      throw BothyError(
        .noContainer,
        "No shared folder exists at \(folder). Make it first, or give the path of one that exists.")
    }
    guard access(folder, W_OK) == 0 else {
      throw BothyError(
        .noContainer, "The shared folder \(folder) may not be written. Check its permissions.")
    }
    self.folder = folder
  }

  /// The path of a file in the folder. The file need not exist.
  public func path(of file: String) -> String { folder + "/" + file }
}
