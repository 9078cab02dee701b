public import BothyStore
public import Foundation
internal import Synchronization

/// The folder with the newest version of one pack. It installs a version completely or not at all, and opens it for
/// readers.
///
/// ```swift
/// let packs = PackStore(
///   at: folder, bundled: Bundle.main.url(forResource: "times", withExtension: "pack"), expecting: [PrayerTime.self])
/// let times = try await packs.pack().fetch(PrayerTime.where { $0.city == "Kuwait City" })
/// try await packs.install(from: source, through: cache)
/// ```
///
/// Call `pack()` each time: it returns the same object until a newer version is installed. Readers of the old version
/// finish undisturbed. Its files are deleted after its last reader, in this process or another. Processes may share the
/// folder.
public final class PackStore: Sendable {
  let versions: PackVersions
  let expecting: [any Entity.Type]
  private let bundled: URL?
  private let options: Pack.Options
  private let kept = Mutex<Pack?>(nil)

  /// Describes a store without reading anything.
  ///
  /// - Parameters:
  ///   - folder: the folder, which the first installation creates.
  ///   - bundled: the folder of the pack that came with the app, used until one is installed.
  ///   - types: the types that the app needs. A pack without them isn't installed, and isn't opened.
  ///   - options: the options of each pack that `pack()` opens.
  public init(
    at folder: URL, bundled: URL? = nil, expecting types: [any Entity.Type] = [],
    options: Pack.Options = Pack.Options()
  ) {
    versions = PackVersions(folder.path)
    self.bundled = bundled
    expecting = types
    self.options = options
  }

  /// Returns the installed version, or the one that came with the app if none is installed.
  ///
  /// Also returns the one that came with the app if the installed version can't be opened, for example because a newer
  /// app needs a field that it lacks. `Pack.folder` shows which one it is, and the next installation replaces the other.
  ///
  /// If it is open, this costs one look-up of a link. Otherwise it costs like `Pack.init`. May be called from any
  /// thread. Another process's installation is seen by the next call.
  ///
  /// - Throws: `BothyError` `.notFound` if neither exists, and the errors of `Pack.init`. Throws `.busy` if the
  ///   version is replaced during each of 100 attempts.
  public func pack() throws -> Pack {
    do {
      if let pack = try installed() { return pack }
    } catch {
      // If neither can be opened, the reason of the installed one counts.
      guard let bundled, let pack = try? opened(bundled) else { throw error }
      return pack
    }
    guard let bundled else {
      throw BothyError(
        .notFound, "No pack is installed in \(versions.root). Install one with `bothy pack install`.")
    }
    return try opened(bundled)
  }

  /// Returns the installed version, or `nil` without one, or if its files are gone.
  private func installed() throws -> Pack? {
    // The version may be deleted before the lease is acquired. Then a newer version exists.
    for _ in 0..<100 {
      guard let current = versions.current else { return nil }
      let folder = URL(filePath: current)
      if let known = known(folder) { return known }
      if let lease = versions.lease(on: current) { return try opened(folder, lease) }
      if versions.current == current, !FileManager.default.fileExists(atPath: current) { return nil }
    }
    throw BothyError(.busy, "The pack in \(versions.root) is replaced again and again. Try again.")
  }

  private func opened(_ folder: URL, _ lease: VersionLease? = nil) throws -> Pack {
    try known(folder) ?? keep(Pack(at: folder, expecting: expecting, options: options, lease: lease))
  }

  private func known(_ folder: URL) -> Pack? { kept.withLock { $0?.folder == folder ? $0 : nil } }

  /// Deletes old versions without readers. Installing does this too.
  package func removeUnused() { versions.sweep() }

  /// Releases a version that isn't the newest.
  func releaseOldVersion() {
    let current = versions.current
    let old = kept.withLock { kept -> Pack? in
      guard let known = kept, known.folder.path != current else { return nil }
      defer { kept = nil }
      return known
    }
    _ = old
  }

  /// Stores the pack for later calls. The one stored before is released outside of the lock.
  private func keep(_ pack: Pack) -> Pack {
    let (old, result) = kept.withLock { kept -> (Pack?, Pack) in
      if let known = kept, known.folder == pack.folder { return (nil, known) }
      defer { kept = pack }
      return (kept, pack)
    }
    _ = old
    return result
  }
}
