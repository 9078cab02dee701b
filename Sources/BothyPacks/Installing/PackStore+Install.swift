public import BothyCache
public import BothyStore
public import Foundation

/// Installing: a pack is replaced only after every byte of the new one was verified.
extension PackStore {
  /// Installs the pack in a folder.
  ///
  /// Copies the files that the installed version lacks. Verifies the length, SHA-256, structure and rows of every
  /// file, and the expected types. Then forces everything to the disk and replaces one link. If interrupted at any
  /// moment, either the old or the new version is installed.
  ///
  /// Takes the lock of the store, which one installation of all processes has at a time. Runs off the caller's actor.
  /// Needs the pack's size on disk.
  ///
  /// - Parameters:
  ///   - schema: types that the pack must have besides those that the store expects.
  ///   - progress: called with the numbers of available and of all files.
  /// - Throws: `BothyError`. The installed version is then unchanged.
  ///   - `.notFound`, `corruptManifest`, `unsafeName` or `.newerFile` for a folder without a manifest that can be
  ///     used,
  ///   - `wrongPack` or `.schemaMismatch` before anything is copied,
  ///   - `.damagedFile` or `.checksumMismatch` for a file that isn't the manifest's,
  ///   - `.busy` while another installation runs: try again later,
  ///   - `.cannotWrite` or `.cancelled`.
  @discardableResult
  public func install(
    from folder: URL, expecting schema: StoreSchema? = nil,
    progress: @Sendable (Int, Int) -> Void = { _, _ in }
  ) async throws -> PackInstallation {
    try await install(FolderSupply(folder: folder.path), schema, progress)
  }

  /// Installs the pack at the address of a source, through the cache. An interrupted download continues where it was.
  /// After the installation, the files are removed from the cache.
  ///
  /// The manifest is requested from the server. Without a network, a cached manifest is used. Each other file costs a
  /// request, unless the cache or the installed version has it. The largest file must fit in memory.
  ///
  /// - Throws: `BothyError`, such as `.download` if the cache returns an error or the server lacks a file. Throws what
  ///   `install(from:expecting:progress:)` does. Files that were loaded stay in the cache for the next call.
  @discardableResult
  public func install(
    from source: ResourceSource, through cache: ResourceCache, expecting schema: StoreSchema? = nil,
    progress: @Sendable (Int, Int) -> Void = { _, _ in }
  ) async throws -> PackInstallation {
    try await install(CacheSupply(source, cache), schema, progress)
  }

  private func install(
    _ supply: some PackSource, _ schema: StoreSchema?, _ progress: (Int, Int) -> Void
  ) async throws -> PackInstallation {
    try versions.prepare()
    let lock = try InstallationLock(versions.root)
    defer { withExtendedLifetime(lock) {} }
    versions.clean()
    let manifest = try await supply.manifest()
    // A damaged pack has no files to reuse, and any pack may replace it.
    let installed = versions.current.flatMap { try? Pack(at: URL(filePath: $0)) }
    try accept(manifest, schema, supply.name, after: installed)
    var done = PackInstallation(
      name: manifest.name, version: manifest.version, isNew: true, fetched: 0, reused: 0)
    // A damaged pack is installed again.
    if let installed, installed.manifest == manifest, (try? installed.verify()) != nil {
      done.isNew = false
      done.reused = manifest.files.count
      return done
    }
    let name = "\(manifest.digest.prefix(12))-\(UUID().uuidString.prefix(8).lowercased())"
    let staged = versions.incoming + "/" + name + ".staged"
    try DurableFile.writing(staged) {
      try FileManager.default.createDirectory(atPath: staged, withIntermediateDirectories: true)
    }
    defer { versions.clean() }
    for (number, file) in manifest.files.enumerated() {
      guard !Task.isCancelled else {
        throw BothyError(.cancelled, "The installation was cancelled; what was installed is as it was.")
      }
      if Self.reuse(file, of: installed, in: staged) {
        done.reused += 1
      } else {
        try await supply.fetch(file, into: staged)
        done.fetched += 1
      }
      try Pack.check(file, in: staged)
      try DurableFile.sync(staged + "/" + file.name)
      progress(number + 1, manifest.files.count)
    }
    try DurableFile.write(manifest.text, to: staged + "/" + Pack.Manifest.fileName)
    try DurableFile.sync(staged)
    let whole = try Pack(at: URL(filePath: staged), expecting: expecting, options: Pack.Options(), lease: nil)
    try whole.examine()
    _ = try versions.adopt(staged, named: name)
    releaseOldVersion()
    await supply.finish(manifest)
    versions.sweep()
    return done
  }

  /// Checks that this is the right pack with the types that the app needs, before anything is fetched.
  private func accept(
    _ manifest: Pack.Manifest, _ schema: StoreSchema?, _ place: String, after installed: Pack?
  ) throws(BothyError) {
    if let installed, installed.manifest.name != manifest.name {
      throw BothyError(
        .wrongPack,
        "\(place) has the pack \(manifest.name), and \(versions.root) the pack \(installed.manifest.name). Install it "
          + "in a folder of its own.")
    }
    let agreement = SchemaAgreement(manifest, place)
    let expected = StoreSchema(types: expecting.map { $0.schema } + (schema?.types ?? []))
    try agreement.check(expected, against: manifest.schema)
  }

  /// Reuses a file of the installed version. If the file system supports links, it isn't copied.
  private static func reuse(_ file: Pack.Manifest.File, of installed: Pack?, in folder: String) -> Bool {
    guard let installed, let known = installed.manifest.files.first(where: { $0.sha256 == file.sha256 })
    else {
      return false
    }
    let (old, new) = (installed.folder.path + "/" + known.name, folder + "/" + file.name)
    // Fetched instead.
    if link(old, new) != 0, (try? FileManager.default.copyItem(atPath: old, toPath: new)) == nil {
      return false
    }
    if (try? Pack.check(file, in: folder)) != nil { return true }  // otherwise damaged: fetched instead
    unlink(new)
    return false
  }
}
