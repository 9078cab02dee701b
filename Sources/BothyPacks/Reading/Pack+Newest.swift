internal import Foundation

extension Pack {
  /// The pack that a folder is, or the newest one that is installed in it. Costs and throws what `Pack.init` does.
  package static func newest(in folder: String, options: PackOptions = PackOptions()) throws -> Pack {
    let isInstalled = FileManager.default.fileExists(atPath: folder + "/current/" + PackManifest.fileName)
    guard isInstalled else { return try Pack(at: URL(filePath: folder), options: options) }
    return try PackShelf(at: URL(filePath: folder), options: options).pack()
  }
}
