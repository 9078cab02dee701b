internal import Foundation

/// The files of a store: `versions/<name>/` for each version, `versions/<name>.lock` that its readers share, and the
/// link `current`. Renaming a new link onto it installs a version.
struct PackVersions: Sendable {
  let root: String

  init(_ root: String) { self.root = root.count > 1 && root.hasSuffix("/") ? String(root.dropLast()) : root }

  private var folder: String { root + "/versions" }
  private var link: String { root + "/current" }
  /// The folder in which versions are staged. Readers ignore it.
  var incoming: String { root + "/incoming" }

  /// The folder of the installed version, or `nil`.
  var current: String? {
    // Without the link, no version is installed.
    guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: link) else { return nil }
    return root + "/" + target
  }

  /// Creates the folders. Throws `BothyError` `.cannotWrite`.
  func prepare() throws(BothyError) {
    do {
      try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
      try FileManager.default.createDirectory(atPath: incoming, withIntermediateDirectories: true)
    } catch {
      throw BothyError(
        .cannotWrite, "\(root) can't be made. Check that the folder it is in may be written.",
        underlying: error)
    }
  }

  /// Acquires a lease on a version, or returns `nil` if the version was deleted. An old version is deleted after its
  /// last reader.
  func lease(on version: String) -> VersionLease? {
    VersionLease(version) { [self] in if current != version { _ = VersionLease.removeIfUnused(version) } }
  }

  /// Makes the version in `staged`, whose files are on the disk already, the installed one. Returns its folder.
  func adopt(_ staged: String, named name: String) throws -> String {
    let version = folder + "/" + name
    guard FileManager.default.createFile(atPath: version + ".lock", contents: nil) else {
      throw DurableFile.unwritable(version + ".lock")
    }
    try DurableFile.rename(staged, to: version)
    try DurableFile.sync(folder)
    let next = incoming + "/" + name
    try DurableFile.writing(next) {
      try FileManager.default.createSymbolicLink(atPath: next, withDestinationPath: "versions/" + name)
    }
    try DurableFile.rename(next, to: link)
    try DurableFile.sync(root)
    return version
  }

  /// Deletes unfinished versions. The caller must have the lock.
  func clean() {
    for name in names(in: incoming) {
      try? FileManager.default.removeItem(atPath: incoming + "/" + name)  // the next call deletes the rest
    }
  }

  /// Deletes old versions without readers.
  func sweep() {
    let current = current
    for name in Set(names(in: folder).map { $0.hasSuffix(".lock") ? String($0.dropLast(5)) : $0 }) {
      let version = folder + "/" + name
      if version != current { _ = VersionLease.removeIfUnused(version) }
    }
  }

  private func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []  // no folder: no names
  }
}

/// The lock for installing on a store, which one process has at a time. The system releases it when the process dies.
final class InstallationLock: Sendable {
  private let descriptor: Int32

  /// Acquires the lock. Throws `BothyError` `.busy` if another installation has it.
  init(_ root: String) throws(BothyError) {
    descriptor = open(root + "/lock", O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw DurableFile.unwritable(root + "/lock") }
    guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
      throw BothyError(.busy, "Another installation in \(root) is running. Try again when it is done.")
    }
  }

  deinit { if descriptor >= 0 { close(descriptor) } }
}
