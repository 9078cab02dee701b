internal import Foundation

/// The temporary folder beside a new pack, in which it is built. An existing pack stays until the new one is complete.
struct BuildPlace {
  /// The path of the temporary folder.
  let path: String
  private let target: String

  /// The path at which the pack is built.
  var pack: String { path + "/pack" }

  /// Creates the folder. Throws `BothyError` `.cannotWrite` if the name belongs to something that isn't a pack.
  init(_ target: String) throws {
    let name = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    self.target = name
    if FileManager.default.fileExists(atPath: name), !Self.mayReplace(name) {
      throw BothyError(
        .cannotWrite, "\(name) exists already and isn't a pack. Choose another name, or remove it.")
    }
    let url = URL(filePath: name)
    path = url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).building-\(getpid())"
    remove()
    do {
      try FileManager.default.createDirectory(atPath: path + "/pack", withIntermediateDirectories: true)
    } catch {
      throw BothyError(
        .cannotWrite, "\(path) can't be made. Check that the folder it is in may be written.",
        underlying: error)
    }
  }

  private static func mayReplace(_ folder: String) -> Bool {
    if FileManager.default.fileExists(atPath: folder + "/" + PackManifest.fileName) { return true }
    // Not a folder, so it isn't replaced.
    return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty == true
  }

  /// Gives the new pack its name.
  func finish() throws {
    if FileManager.default.fileExists(atPath: target) { try DurableFile.rename(target, to: path + "/old") }
    try DurableFile.rename(pack, to: target)
    try DurableFile.sync(URL(filePath: target).deletingLastPathComponent().path)
  }

  // The next build removes the rest.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
