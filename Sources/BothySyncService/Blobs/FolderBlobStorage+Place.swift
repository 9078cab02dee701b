import BothyStore
import Foundation

extension FolderBlobStorage {
  /// The folders of one space's blobs.
  struct Place: Sendable {
    let folder: String

    func partial(_ name: String) -> String { "\(folder)/partial/\(name)" }
    func fresh(_ name: String) -> String { "\(folder)/fresh/\(name)" }
    func keptFolder(_ name: String) -> String { "\(folder)/kept/\(name.prefix(2))" }
    func kept(_ name: String) -> String { "\(keptFolder(name))/\(name)" }
    func wanted(_ name: String) -> String { "\(folder)/wanted/\(name)" }
    func damaged(_ name: String) -> String { "\(folder)/damaged/\(name)" }

    func oldestWanted(of names: Set<String>) -> String? {
      names.map { (ContentFile.used(wanted($0)) ?? 0, $0) }.min { $0 < $1 }?.1
    }

    func whole(_ name: String) -> (path: String, size: Int64)? {
      for path in [kept(name), fresh(name), kept(name)] {
        if let size = ContentFile.size(of: path) { return (path, size) }
      }
      return nil
    }

    /// Quarantines a whole blob whose bytes don't match its name, under the lock of its upload. Reads all of it, and
    /// returns true if they don't.
    func putAsideIfDamaged(_ name: String) throws -> Bool {
      guard try isDamaged(name) else { return false }
      try PrivateFolder.make(folder + "/partial")
      let lock = try OpenFile(partial(name), O_RDWR | O_CREAT)
      guard flock(lock.descriptor, LOCK_EX) == 0 else { throw ContentFile.failure(partial(name)) }
      // Another upload may have replaced the bytes meanwhile.
      guard try isDamaged(name), let (path, _) = whole(name) else { return true }
      try PrivateFolder.make(folder + "/damaged")
      try ContentFile.publish(path, as: damaged(name))
      return true
    }

    private func isDamaged(_ name: String) throws -> Bool {
      guard let (path, _) = whole(name) else { return false }
      do { return try ContentFile.digest(of: path).sha256 != name } catch let error as BothyError
        where error.code == .notFound
      { return false }  // it has moved, which only whole blobs do
    }

    /// Returns the sizes of unfinished uploads of other blobs that nobody has continued since a time.
    func uploads(besides name: String, idleSince time: Int64) -> [String: Int64] {
      var found: [String: Int64] = [:]
      for other in ContentFile.names(in: folder + "/partial") where other != name {
        guard let used = ContentFile.used(partial(other)), used < time else { continue }
        found[other] = ContentFile.size(of: partial(other))
      }
      return found
    }

    /// Deletes an unfinished upload, unless a part of it arrives at the moment.
    func endUpload(_ name: String) throws {
      do {
        let file = try OpenFile(partial(name), O_RDWR)
        if flock(file.descriptor, LOCK_EX | LOCK_NB) == 0 { ContentFile.remove(partial(name)) }
      } catch let error as BothyError where error.code == .notFound {}  // it was completed or deleted
    }

    /// Returns the bytes that all files count as. Checks each.
    func used(_ limits: BlobLimits) -> Int64 {
      var folders = ["\(folder)/partial", "\(folder)/fresh"]
      folders += ContentFile.names(in: "\(folder)/kept").map { "\(folder)/kept/\($0)" }
      return folders.flatMap { folder in ContentFile.names(in: folder).map { "\(folder)/\($0)" } }
        .reduce(0) { $0 + (ContentFile.size(of: $1).map(limits.charge) ?? 0) }
    }
  }
}
