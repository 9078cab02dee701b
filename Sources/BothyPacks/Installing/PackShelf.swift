public import BothyStore
public import Foundation
internal import Synchronization

/// The place where an app keeps the newest version of one pack: installs it whole or not at all, and gives it to
/// whoever asks.
///
/// ```swift
/// let shelf = PackShelf(at: folder, bundled: Bundle.main.url(forResource: "times", withExtension: "pack"),
///                       expecting: [PrayerTime.self])
/// let times = try shelf.pack().fetch(query)
/// try await shelf.install(from: source, through: cache)
/// ```
///
/// Ask for `pack()` each time: it is the same object until a newer version is there. Who still reads the old one
/// finishes undisturbed; its files go when nobody reads them any more, in this process or another. The folder may be
/// shared by processes.
public final class PackShelf: Sendable {
  let versions: PackVersions
  let expecting: [any Entity.Type]
  private let bundled: URL?
  private let options: PackOptions
  private let kept = Mutex<Pack?>(nil)

  /// Describes a shelf; reads nothing.
  ///
  /// - Parameters:
  ///   - folder: made by the first installation.
  ///   - bundled: the folder of the pack that came with the app, for as long as none is installed.
  ///   - types: what the app will ask for; a pack that does not have it is not installed.
  public init(
    at folder: URL, bundled: URL? = nil, expecting types: [any Entity.Type] = [],
    options: PackOptions = PackOptions()
  ) {
    versions = PackVersions(folder.path)
    self.bundled = bundled
    expecting = types
    self.options = options
  }

  /// The newest version: installed, else the one that came with the app.
  ///
  /// Costs one look at a link when it is open already, else what `Pack.init` costs and throws. Throws `.notFound` when
  /// there is none.
  public func pack() throws -> Pack {
    // Between the look at the link and the lease the version may go; then there is a newer one.
    for _ in 0..<100 {
      let current = versions.current
      let folder = current.map { URL(filePath: $0) } ?? bundled
      guard let folder else {
        throw PackError(
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
    throw PackError(.busy, "The pack in \(versions.root) is replaced again and again. Try again.")
  }

  /// Removes old versions that nobody reads. Installing does it, too.
  public func removeUnused() { versions.sweep() }

  /// Lets go of a version that is not the newest any more.
  func letGo() {
    let current = versions.current
    let old = kept.withLock { kept -> Pack? in
      guard let known = kept, known.folder.path != current else { return nil }
      defer { kept = nil }
      return known
    }
    _ = old
  }

  /// Keeps the pack for the next who asks; the one kept before is released outside of the lock.
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
