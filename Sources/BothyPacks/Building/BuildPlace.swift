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
    Self.removeLeft(of: name)
    do {
      try FileManager.default.createDirectory(atPath: path + "/pack", withIntermediateDirectories: true)
    } catch {
      throw BothyError(
        .cannotWrite, "\(path) can't be made. Check that the folder it is in may be written.",
        underlying: error)
    }
  }

  private static func mayReplace(_ folder: String) -> Bool {
    if FileManager.default.fileExists(atPath: folder + "/" + Pack.Manifest.fileName) { return true }
    // Not a folder, so it isn't replaced.
    return (try? FileManager.default.contentsOfDirectory(atPath: folder))?.isEmpty == true
  }

  /// Gives the new pack its name. An earlier pack gets it back if that fails.
  func finish() throws {
    let isReplacing = FileManager.default.fileExists(atPath: target)
    if isReplacing { try DurableFile.rename(target, to: path + Self.old) }
    do { try DurableFile.rename(pack, to: target) } catch {
      if isReplacing { try DurableFile.rename(path + Self.old, to: target) }
      throw error
    }
    try DurableFile.sync(URL(filePath: target).deletingLastPathComponent().path)
  }

  // The next build removes the rest.
  func remove() { try? FileManager.default.removeItem(atPath: path) }

  private static let old = "/old"

  /// Removes the folders that killed builds of this pack have left. A pack that one of them was replacing gets its name
  /// back. A killed process may have had the id of this one, as in a container.
  private static func removeLeft(of target: String) {
    let files = FileManager.default
    let url = URL(filePath: target)
    let parent = url.deletingLastPathComponent().path
    let prefix = ".\(url.lastPathComponent).building-"
    // An unreadable folder is reported when this build makes its own in it.
    for name in (try? files.contentsOfDirectory(atPath: parent)) ?? [] where name.hasPrefix(prefix) {
      guard let builder = pid_t(name.dropFirst(prefix.count)), builder > 0,
        builder == getpid() || !RunningProcess.exists(builder)
      else { continue }
      let left = parent + "/" + name
      if !files.fileExists(atPath: target), files.fileExists(atPath: left + old) {
        guard (try? DurableFile.rename(left + old, to: target)) != nil else { continue }
      }
      try? files.removeItem(atPath: left)
    }
  }
}
