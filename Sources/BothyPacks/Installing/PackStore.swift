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

  /// Returns the newest version: the installed one, else the one that came with the app.
  ///
  /// If it is open, this costs one look-up of a link. Otherwise it costs like `Pack.init`. May be called from any
  /// thread. Another process's installation is seen by the next call.
  ///
  /// - Throws: `BothyError` `.notFound` if neither exists, and the errors of `Pack.init`. Throws `.busy` if the
  ///   version is replaced during each of 100 attempts.
  public func pack() throws -> Pack {
    // The version may be deleted before the lease is acquired. Then a newer version exists.
    for _ in 0..<100 {
      let current = versions.current
      let folder = current.map { URL(filePath: $0) } ?? bundled
      guard let folder else {
        throw BothyError(
          .notFound, "No pack is installed in \(versions.root). Install one with `bothy pack install`.")
      }
      if let known = kept.withLock({ $0?.folder == folder ? $0 : nil }) { return known }
      var lease: VersionLease?
      if let current {
        lease = versions.lease(on: current)
        if lease == nil { continue }
      }
      return keep(try Pack(at: folder, expecting: expecting, options: options, lease: lease))
    }
    throw BothyError(.busy, "The pack in \(versions.root) is replaced again and again. Try again.")
  }

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
