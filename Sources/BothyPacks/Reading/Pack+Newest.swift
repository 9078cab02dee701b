internal import Foundation

extension Pack {
  /// Returns the pack in a folder, or the newest one installed in it. Costs and throws like `Pack.init`.
  package static func newest(in folder: String, options: Pack.Options = Pack.Options()) throws -> Pack {
    let isInstalled = FileManager.default.fileExists(atPath: folder + "/current/" + Pack.Manifest.fileName)
    guard isInstalled else { return try Pack(at: URL(filePath: folder), options: options) }
    return try PackStore(at: URL(filePath: folder), options: options).pack()
  }
}
