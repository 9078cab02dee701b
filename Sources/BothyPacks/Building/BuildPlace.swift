internal import Foundation

/// The folder beside a new pack that it is built in: what is there already stays until the new one is whole.
struct BuildPlace {
  /// Where there is room for what is thrown away afterwards.
  let path: String
  private let target: String

  /// Where the pack is built.
  var pack: String { path + "/pack" }

  /// Throws `PackError` `.cannotWrite` when something that is no pack has the name.
  init(_ target: String) throws {
    let name = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    self.target = name
    if FileManager.default.fileExists(atPath: name), !Self.mayReplace(name) {
      throw PackError(
        .cannotWrite, "\(name) is there already and is no pack. Choose another name, or remove it.")
    }
    let url = URL(filePath: name)
    path = url.deletingLastPathComponent().path + "/.\(url.lastPathComponent).building-\(getpid())"
    remove()
    do {
      try FileManager.default.createDirectory(atPath: path + "/pack", withIntermediateDirectories: true)
    } catch {
      throw PackError(
        .cannotWrite, "\(path) can't be made. Check that the folder it is in may be written.",
        underlying: error)
    }
  }

  private static func mayReplace(_ folder: String) -> Bool {
    if FileManager.default.fileExists(atPath: folder + "/" + PackManifest.fileName) { return true }
    // No folder: not replaced.
    return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty == true
  }

  /// Gives the new pack its name.
  func finish() throws {
    if FileManager.default.fileExists(atPath: target) { try DurableFile.rename(target, to: path + "/old") }
    try DurableFile.rename(pack, to: target)
    try DurableFile.sync(URL(filePath: target).deletingLastPathComponent().path)
  }

  // What stays is removed by the next build.
  func remove() { try? FileManager.default.removeItem(atPath: path) }
}
