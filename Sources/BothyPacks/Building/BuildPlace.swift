internal import Foundation
internal import Synchronization

/// The temporary folder beside a new pack, in which it is built. An existing pack stays until the new one is complete.
package struct BuildPlace {
  /// The path of the temporary folder.
  let path: String
  private let target: String

  /// The temporary folders in which this process builds.
  private static let running = Mutex<Set<String>>([])

  /// The path at which the pack is built.
  package var pack: String { path + "/pack" }

  /// Creates the folder. Throws `BothyError` `.cannotWrite` if the name belongs to something that isn't a pack.
  package init(_ target: String) throws {
    let place = target.count > 1 && target.hasSuffix("/") ? String(target.dropLast()) : target
    self.target = place
    if FileManager.default.fileExists(atPath: place), !Self.mayReplace(place) {
      throw BothyError(
        .cannotWrite, "\(place) exists already and isn't a pack. Choose another name, or remove it.")
    }
    let url = URL(filePath: place)
    let parent = url.deletingLastPathComponent().resolvingSymlinksInPath().path
    path = Self.running.withLock { running in
      Self.removeLeft(of: place, in: parent, besides: running)
      let own = "\(parent)/.\(url.lastPathComponent).building-\(getpid())"
      var (path, number) = (own, 1)
      while !running.insert(path).inserted {
        number += 1
        path = "\(own)-\(number)"
      }
      return path
    }
    do {
      try FileManager.default.createDirectory(atPath: path + "/pack", withIntermediateDirectories: true)
    } catch {
      remove()
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

  /// Gives the new pack its name, and forces that to the disk. If either fails, all is as it was before.
  func finish() throws { try finish(DurableFile.sync) }

  package func finish(_ sync: (String) throws -> Void) throws {
    let isReplacing = FileManager.default.fileExists(atPath: target)
    if isReplacing { try DurableFile.rename(target, to: path + Self.old) }
    do {
      try DurableFile.rename(pack, to: target)
      try sync(URL(filePath: target).deletingLastPathComponent().path)
    } catch {
      // The first error is the one to report. The new pack may not have got the name.
      try? DurableFile.rename(target, to: pack)
      if isReplacing { try DurableFile.rename(path + Self.old, to: target) }
      throw error
    }
  }

  package func remove() {
    // The next build removes the rest.
    try? FileManager.default.removeItem(atPath: path)
    Self.running.withLock { running in _ = running.remove(path) }
  }

  private static let old = "/old"

  /// Removes the folders that killed builds of this pack have left, besides those in which this process builds. A pack
  /// that one of them was replacing gets its name back.
  ///
  /// A killed process may have had the id of this one, as in a container.
  private static func removeLeft(of target: String, in parent: String, besides running: Set<String>) {
    let files = FileManager.default
    let prefix = ".\(URL(filePath: target).lastPathComponent).building-"
    // An unreadable folder is reported when this build makes its own in it.
    for name in (try? files.contentsOfDirectory(atPath: parent)) ?? []
    where name.hasPrefix(prefix) && !running.contains(parent + "/" + name) {
      guard let builder = pid_t(name.dropFirst(prefix.count).prefix(while: { $0 != "-" })), builder > 0,
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
