public import BothyCache
public import BothyStore
public import Foundation

/// What an installation did.
public struct PackInstallation: Sendable, Hashable {
  /// The name of the pack.
  public var name: String
  /// The edition that is installed now.
  public var version: String
  /// False when this very pack was installed already and is as it should be.
  public var isNew: Bool
  /// The files that were fetched, and those that the version before has with the same contents.
  public var fetched: Int
  /// The files that were there with the same contents: linked, or copied where that can't be. All of them when
  /// nothing is new.
  public var reused: Int
}

/// Installing: nothing takes the place of the pack that is there before every byte of it was checked.
extension PackShelf {
  /// Installs the pack in a folder.
  ///
  /// Copies what the installed version does not have, checks length, SHA-256, structure and rows of every file and the
  /// types that are expected, forces it all to the disk and replaces one link. Ended at any moment, the old or the new
  /// version is installed.
  /// - Parameters:
  ///   - schema: types that the pack must have besides those that the shelf expects.
  ///   - progress: told how many files are there, of how many.
  /// - Throws: `PackError`; what was installed is as it was.
  @discardableResult
  public func install(
    from folder: URL, expecting schema: StoreSchema? = nil,
    progress: @Sendable (Int, Int) -> Void = { _, _ in }
  ) async throws -> PackInstallation {
    try await install(FolderSupply(folder: folder.path), schema, progress)
  }

  /// Installs the pack below the address of a source, through the cache: a download that broke off goes on where it
  /// was. What came is removed from the cache when it is installed.
  ///
  /// - Throws: `PackError`, `.download` when the cache has no answer.
  @discardableResult
  public func install(
    from source: ResourceSource, through cache: ResourceCache, expecting schema: StoreSchema? = nil,
    progress: @Sendable (Int, Int) -> Void = { _, _ in }
  ) async throws -> PackInstallation {
    try await install(CacheSupply(source, cache), schema, progress)
  }

  private func install(
    _ supply: some PackSupply, _ schema: StoreSchema?, _ progress: (Int, Int) -> Void
  ) async throws -> PackInstallation {
    try versions.prepare()
    let lock = try ShelfLock(versions.root)
    defer { withExtendedLifetime(lock) {} }
    versions.clean()
    let manifest = try await supply.manifest()
    // One that is damaged has nothing to be reused and may be replaced by any pack.
    let installed = versions.current.flatMap { try? Pack(at: URL(filePath: $0)) }
    try accept(manifest, schema, supply.name, after: installed)
    var done = PackInstallation(
      name: manifest.name, version: manifest.version, isNew: true, fetched: 0, reused: 0)
    // Damaged: installed again.
    if let installed, installed.manifest == manifest, (try? installed.verify()) != nil {
      done.isNew = false
      done.reused = manifest.files.count
      return done
    }
    let name = "\(manifest.digest.prefix(12))-\(UUID().uuidString.prefix(8).lowercased())"
    let staged = versions.incoming + "/" + name + ".staged"
    try FileManager.default.createDirectory(atPath: staged, withIntermediateDirectories: true)
    defer { versions.clean() }
    for (number, file) in manifest.files.enumerated() {
      guard !Task.isCancelled else {
        throw PackError(.cancelled, "The installation was cancelled; what was installed is as it was.")
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
    try DurableFile.write(manifest.text, to: staged + "/" + PackManifest.fileName)
    try DurableFile.sync(staged)
    let whole = try Pack(at: URL(filePath: staged), expecting: expecting, options: PackOptions(), lease: nil)
    try whole.examine()
    _ = try versions.adopt(staged, named: name)
    letGo()
    await supply.finish(manifest)
    versions.sweep()
    return done
  }

  /// Whether this is the pack that belongs here and has what the app needs; nothing of it was fetched yet.
  private func accept(
    _ manifest: PackManifest, _ schema: StoreSchema?, _ place: String, after installed: Pack?
  ) throws(PackError) {
    if let installed, installed.manifest.name != manifest.name {
      throw PackError(
        .wrongPack,
        "\(place) has the pack \(manifest.name), and \(versions.root) the pack \(installed.manifest.name). Install it "
          + "in a folder of its own.")
    }
    let agreement = SchemaAgreement(manifest, place)
    let expected = StoreSchema(types: expecting.map { $0.schema } + (schema?.types ?? []))
    try agreement.check(expected, against: manifest.schema)
  }

  /// Takes a file that the installed version has over, without a copy where the file system can.
  private static func reuse(_ file: PackManifest.File, of installed: Pack?, in folder: String) -> Bool {
    guard let installed, let known = installed.manifest.files.first(where: { $0.sha256 == file.sha256 })
    else {
      return false
    }
    let (old, new) = (installed.folder.path + "/" + known.name, folder + "/" + file.name)
    // Fetched instead.
    if link(old, new) != 0, (try? FileManager.default.copyItem(atPath: old, toPath: new)) == nil {
      return false
    }
    if (try? Pack.check(file, in: folder)) != nil { return true }  // damaged where it is: fetched instead
    unlink(new)
    return false
  }
}
