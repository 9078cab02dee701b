import BothyStore
import Foundation
import Synchronization

/// A vault with the blobs of all spaces in one folder, which several processes may share.
///
///     <folder>/<SHA-256 of the space's name>/partial/<sha256>      what is being uploaded
///                                           /fresh/<sha256>        whole, named by no operation yet
///                                           /kept/ab/<sha256>      whole, named by an operation
///                                           /wanted/<sha256>       empty: records name it, and it is missing
///                                           /damaged/<sha256>      had another checksum, to be looked at
///     <folder>/swept                                               a byte, of the time of the last sweep
///
/// A blob moves by renaming, so a crash leaves it in exactly one place. Only blobs in `partial` and `fresh` are ever
/// swept. Parts of one upload may come from several devices, because each continues at the end of the file.
public final class FolderBlobStorage: BlobFileStorage {
  private let root: String
  private let limits: BlobLimits
  private let now: @Sendable () -> Int64
  private let memory = Mutex(BlobMemory())

  /// Makes a vault. The folder is created with the first blob.
  ///
  /// Opens nothing. With a quota, a part costs a look-up for every file of the space once in ten seconds. Several
  /// processes may exceed the quota of a space by what they take in that time.
  ///
  /// - Parameters:
  ///   - folder: its file system must support locks, and renaming within the folder.
  ///   - now: the clock, in milliseconds since 1970. All processes on the folder should agree on it.
  public init(at folder: String, limits: BlobLimits = BlobLimits(), now: @escaping @Sendable () -> Int64) {
    root = folder
    self.limits = limits
    self.now = now
  }

  /// Returns how much of a blob is stored. A whole blob is marked as used now, which postpones its sweep.
  ///
  /// Costs up to four look-ups of files, on a thread that may block. A missing blob is a part of 0 bytes.
  public func holding(of sha256: String, in space: String) async throws -> BlobHolding {
    let place = place(space)
    return try await FileWork.run { [now] in
      if let (path, size) = place.whole(sha256) {
        ContentFile.touch(path, at: now())
        return .whole(size: size)
      }
      return .part(ContentFile.size(of: place.partial(sha256)) ?? 0)
    }
  }

  /// Accepts a part if it continues the stored ones, and returns how much is stored then.
  ///
  /// The last part is written through to the disk, and the whole blob is read for its checksum. Uploads of one blob
  /// wait for each other, also in other processes. A stored blob is read as a whole by a part for it, unless it was
  /// within a minute, and replaced if it is damaged.
  ///
  /// - Throws: `BlobError` `tooLarge`, `quotaExceeded` or `checksumMismatch`. `BothyError` if the disk is full or the
  ///   folder can't be written.
  public func append(_ part: BlobPart, in space: String) async throws -> BlobHolding {
    let place = place(space)
    return try await FileWork.run { [self] in try take(part, place) }
  }

  /// Like `holding(of:in:)`, but reads all bytes of a whole blob, unless it did within a minute. A damaged one is moved
  /// to the folder `damaged` and counts as missing.
  public func verifiedHolding(of sha256: String, in space: String) async throws -> BlobHolding {
    let place = place(space)
    try await FileWork.run { [self] in try putAsideIfDamaged(sha256, place) }
    return try await holding(of: sha256, in: space)
  }

  /// Remembers that these blobs are missing, so that devices that have them upload them; at most `limit` of the space.
  ///
  /// Makes an empty file for each. Blobs that are stored or wanted already are left out, and others beyond the limit
  /// are ignored.
  public func want(_ sha256s: Set<String>, in space: String, limit: Int) async throws {
    let place = place(space)
    try await FileWork.run { [now] in
      var known = Set(ContentFile.names(in: place.folder + "/wanted"))
      for name in sha256s.sorted() where !known.contains(name) && place.whole(name) == nil {
        if known.count >= limit {
          guard let oldest = place.oldestWanted(of: known) else { break }
          ContentFile.remove(place.wanted(oldest))
          known.remove(oldest)
        }
        known.insert(name)
        try PrivateFolder.make(place.folder + "/wanted")
        _ = try OpenFile(place.wanted(name), O_RDWR | O_CREAT)
        ContentFile.touch(place.wanted(name), at: now())
      }
    }
  }

  /// Returns at most `limit` of the wanted blobs of a space, different ones each time if more exist.
  ///
  /// Costs one look-up if none was ever wanted. Otherwise it lists a folder.
  public func wanted(in space: String, limit: Int) async throws -> [String] {
    let folder = place(space).folder + "/wanted"
    // Most spaces have no wanted blobs, so this costs one look-up.
    guard ContentFile.size(of: folder) != nil else { return [] }
    return try await FileWork.run {
      let names = ContentFile.names(in: folder)
      return names.count > limit ? Array(names.shuffled().prefix(limit)) : names
    }
  }

  private func take(_ part: BlobPart, _ place: Place) throws -> BlobHolding {
    try putAsideIfDamaged(part.sha256, place)
    if let (_, size) = place.whole(part.sha256) { return .whole(size: size) }
    guard part.size <= limits.largest else {
      throw BlobError(.tooLarge, "The blob has \(part.size) bytes; this server takes \(limits.largest).")
    }
    let path = place.partial(part.sha256)
    try PrivateFolder.make(place.folder + "/partial")
    let file = try OpenFile(path, O_RDWR | O_CREAT)
    // Other uploads of the blob wait here, in this process and in others.
    guard flock(file.descriptor, LOCK_EX) == 0 else { throw ContentFile.failure(path) }
    guard file.isStill(at: path) else {
      // The holder of the lock completed it or deleted it.
      return place.whole(part.sha256).map { .whole(size: $0.size) } ?? .part(0)
    }
    let received = file.size
    // A part that isn't taken leaves no file, as no quota counts an empty one.
    var isEmpty = received == 0
    defer { if isEmpty { ContentFile.remove(path) } }
    guard part.offset == received, received <= part.size else {
      if received > part.size { discard(path, place) }
      return .part(received > part.size ? 0 : received)
    }
    try checkQuota(place, part, received: received)
    try file.write(part.bytes, at: received)
    isEmpty = isEmpty && part.bytes.isEmpty && part.size > 0
    ContentFile.touch(path, at: now())
    let end = received + Int64(part.bytes.count)
    guard end == part.size else { return .part(end) }
    try file.sync()
    guard try ContentFile.digest(of: path).sha256 == part.sha256 else {
      discard(path, place)
      throw BlobError(
        .checksumMismatch, "The bytes of the blob do not have the checksum that names it. Send it again.")
    }
    let isWanted = ContentFile.size(of: place.wanted(part.sha256)) != nil
    try PrivateFolder.make(isWanted ? place.keptFolder(part.sha256) : place.folder + "/fresh")
    try ContentFile.publish(path, as: isWanted ? place.kept(part.sha256) : place.fresh(part.sha256))
    if isWanted { ContentFile.remove(place.wanted(part.sha256)) }
    return .whole(size: end)
  }

  /// Adds up the bytes of the space by its files at most every ten seconds, and by itself between. Uploads that nobody
  /// continues make room.
  private func checkQuota(_ place: Place, _ part: BlobPart, received: Int64) throws {
    guard let quota = limits.quota else { return }
    let time = now()
    let rest = limits.charge(part.size) - limits.charge(received)
    let taken = limits.charge(received + Int64(part.bytes.count)) - limits.charge(received)
    func take() -> Bool {
      if !memory.withLock({ $0.knowsUse(of: place.folder, at: time) }) {
        let used = place.used(limits)
        memory.withLock { $0.setUse(of: place.folder, used, at: time) }
      }
      return memory.withLock { $0.take(taken, of: rest, in: place.folder, quota: quota) }
    }
    if take() { return }
    let idle = place.uploads(besides: part.sha256, idleSince: time - BlobLimits.idleUpload)
    if !idle.isEmpty, rest <= idle.values.reduce(quota - place.used(limits), { $0 + limits.charge($1) }) {
      for name in idle.keys { try place.endUpload(name) }
      memory.withLock { $0.forgetUse(of: place.folder) }
      if take() { return }
    }
    throw BlobError(
      .quotaExceeded, "The space has no room for \(rest) bytes more: its blobs may have \(quota) bytes.")
  }

  private func discard(_ path: String, _ place: Place) {
    ContentFile.remove(path)
    memory.withLock { $0.forgetUse(of: place.folder) }
  }

  /// Quarantines a whole blob whose bytes don't match its name. Reads all of it, once a minute at most if it is intact.
  private func putAsideIfDamaged(_ name: String, _ place: Place) throws {
    guard let (_, size) = place.whole(name) else { return }
    let (blob, time) = (place.kept(name), now())
    guard !memory.withLock({ $0.isIntact(blob, size, at: time) }), try !place.putAsideIfDamaged(name) else {
      return
    }
    memory.withLock { $0.setIntact(blob, size, at: time) }
  }

  /// Returns the bytes of a range of a whole blob, fewer at its end. A range beyond the end gives an empty array.
  ///
  /// Reads just these bytes, without their checksum.
  ///
  /// - Throws: `BlobError` `notFound` for a blob that is missing or incomplete.
  public func read(_ sha256: String, _ range: Range<Int64>, in space: String) async throws -> [UInt8] {
    let place = place(space)
    return try await FileWork.run {
      // It may have moved from `fresh` to `kept` between the check and the read.
      for _ in 0..<2 {
        guard let (path, size) = place.whole(sha256) else { break }
        let end = min(range.upperBound, size)
        guard range.lowerBound < end else { return [] }
        do {
          return try OpenFile(path, O_RDONLY).read(
            at: range.lowerBound, count: Int(end - range.lowerBound))
        } catch let error as BothyError where error.code == .notFound { continue }
      }
      throw BlobError(.notFound, "The space has no such blob.")
    }
  }

  /// Returns true if whole blobs exist that operations have not named yet. Lists a folder, on the caller's thread.
  public func hasUnnamed(in space: String) async -> Bool {
    // This lists a folder that is empty most of the time.
    !ContentFile.names(in: place(space).folder + "/fresh").isEmpty
  }

  /// Keeps these blobs, if they are stored, because an operation names them.
  ///
  /// Each is moved by renaming. Blobs that are missing or kept already are left out. Several processes may keep one.
  public func keep(_ sha256s: Set<String>, in space: String) async throws {
    let place = place(space)
    try await FileWork.run {
      for name in sha256s where ContentFile.size(of: place.fresh(name)) != nil {
        try PrivateFolder.make(place.keptFolder(name))
        do { try ContentFile.publish(place.fresh(name), as: place.kept(name)) } catch let error as BothyError
          where error.code == .notFound
        {}  // another process was faster
      }
    }
  }

  /// Deletes parts and whole blobs in all spaces that operations have not named and that were last used before `time`.
  /// Returns their number. What is dated more than a day ahead counts as used now.
  ///
  /// Lists the folders of all spaces, and looks at each file there. Kept blobs are never looked at.
  public func sweep(before time: Int64) async throws -> Int {
    let (root, now) = (root, now())
    defer { memory.withLock { $0.forgetUses() } }
    return try await FileWork.run {
      var removed = 0
      for space in ContentFile.names(in: root) where space != "swept" {
        for folder in ["fresh", "partial"] {
          for name in ContentFile.names(in: "\(root)/\(space)/\(folder)") {
            let path = "\(root)/\(space)/\(folder)/\(name)"
            guard let used = ContentFile.used(path) else { continue }
            if used < time {
              ContentFile.remove(path)
              removed += 1
            } else if used > now.addingClamped(RetentionPolicy.day) {
              // A clock that was far ahead dated it. Nobody knows when it was used, so its time begins now.
              ContentFile.touch(path, at: now)
            }
          }
        }
      }
      return removed
    }
  }

  /// Returns the blobs of a space that operations have named, with their sizes. Lists up to 256 folders, and looks at
  /// each file.
  public func kept(in space: String) async throws -> [String: Int64] {
    let place = place(space)
    return try await FileWork.run {
      var found: [String: Int64] = [:]
      for folder in ContentFile.names(in: place.folder + "/kept") {
        for name in ContentFile.names(in: "\(place.folder)/kept/\(folder)") {
          found[name] = ContentFile.size(of: place.kept(name))
        }
      }
      return found
    }
  }

  /// Returns true if blobs were uploaded, requested or wanted since `time`, and operations have not named them.
  ///
  /// Lists two folders and looks at their files, on the caller's thread.
  public func hasNews(in space: String, since time: Int64) async -> Bool {
    let folder = place(space).folder
    return ["fresh", "wanted"].contains { kind in
      ContentFile.names(in: "\(folder)/\(kind)").contains { name in
        ContentFile.used("\(folder)/\(kind)/\(name)").map { $0 >= time } ?? false
      }
    }
  }

  /// Deletes the blobs whose grace is over, and notes which are named. Forgets wanted blobs that are not named.
  ///
  /// Costs a call of the file system for each blob of `release`. The time of a file is that of its last use.
  public func release(_ release: BlobRelease, in space: String) async throws -> BlobRelease.Done {
    let place = place(space)
    defer { memory.withLock { $0.forgetUse(of: place.folder) } }
    return try await FileWork.run {
      var done = BlobRelease.Done()
      for name in release.blobs.keys {
        let path = place.kept(name)
        if release.named.contains(name) {
          ContentFile.touch(path, at: release.time)
        } else if let used = ContentFile.used(path) {
          let began = release.graceBegan(used)
          if began < release.time - release.grace {
            ContentFile.remove(path)
            done.removed += 1
          } else {
            if began != used { ContentFile.touch(path, at: began) }
            done.next = min(done.next ?? .max, began + release.grace + 1)
          }
        }
      }
      for name in ContentFile.names(in: place.folder + "/wanted") where !release.named.contains(name) {
        ContentFile.remove(place.wanted(name))
      }
      return done
    }
  }

  /// Returns true if `sweep` is due, and takes it for `lease` milliseconds.
  ///
  /// The time of the file `swept` is that of the last sweep. While one is taken, the period after it ends with the
  /// lease. Without a folder nothing is due.
  public func takeSweep(at time: Int64, every period: Int64, lease: Int64) async throws -> Bool {
    let root = root
    return try await FileWork.run {
      // Without a folder there is nothing to sweep.
      guard ContentFile.size(of: root) != nil else { return false }
      let path = root + "/swept"
      let file = try OpenFile(path, O_RDWR | O_CREAT)
      // Other processes look at the same time.
      guard flock(file.descriptor, LOCK_EX) == 0 else { throw ContentFile.failure(path) }
      if file.size > 0, let last = ContentFile.used(path), last <= time, time - last < period { return false }
      try file.write([UInt8(ascii: "1")], at: 0)
      ContentFile.touch(path, at: max(0, time - period + min(lease, period)))
      return true
    }
  }

  /// Notes that a sweep that was taken at `time` is done. Without it, the sweep is due again at the end of its lease.
  public func noteSweep(at time: Int64) async throws {
    let path = root + "/swept"
    try await FileWork.run { ContentFile.touch(path, at: time) }
  }

  /// Deletes all blobs of a space, also unfinished uploads and damaged ones.
  ///
  /// A folder that can't be deleted is left without an error. Does nothing for a missing space.
  public func remove(space: String) async throws {
    let folder = place(space).folder
    defer { memory.withLock { $0.forgetUse(of: folder) } }
    try await FileWork.run {
      for path in ["partial", "fresh", "kept", "wanted", "damaged"].map({ "\(folder)/\($0)" }) {
        // A process that writes a part continues in a file without a name.
        try? FileManager.default.removeItem(atPath: path)
      }
    }
  }

  private func place(_ space: String) -> Place {
    Place(folder: "\(root)/\(ContentFile.sha256(of: Array(space.utf8)))")
  }
}

extension BlobRelease {
  /// Returns the time at which the grace of an unnamed blob began, by the time of its last use. A use since the last
  /// collection may be that of a record, which is gone since an unknown time.
  ///
  /// It is two seconds before this collection then, so that the next one sees that the blob isn't named. Some file
  /// systems keep whole seconds.
  fileprivate func graceBegan(_ used: Int64) -> Int64 {
    guard let lastTime, used < lastTime - 1000 else { return time - 2000 }
    return used
  }
}

extension OpenFile {
  /// Returns true if the path still names this file.
  fileprivate func isStill(at path: String) -> Bool {
    var own = stat()
    var named = stat()
    return fstat(descriptor, &own) == 0 && stat(path, &named) == 0 && own.st_ino == named.st_ino
  }
}
