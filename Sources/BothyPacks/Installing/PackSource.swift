internal import BothyCache
internal import Foundation

/// A source of packs to install. Its data is verified before use.
protocol PackSource: Sendable {
  var name: String { get }
  func manifest() async throws -> Pack.Manifest
  /// Fetches one file into a folder, under its name.
  func fetch(_ file: Pack.Manifest.File, into folder: String) async throws
  /// Called after the complete installation.
  func finish(_ manifest: Pack.Manifest) async
}

/// A folder with a pack.
struct FolderSupply: PackSource {
  let folder: String

  var name: String { folder }

  func manifest() async throws -> Pack.Manifest { try Pack.manifest(in: folder) }

  func fetch(_ file: Pack.Manifest.File, into target: String) async throws {
    // The copy of a link would need the file that it names, which belongs to others.
    let original = URL(filePath: folder + "/" + file.name).resolvingSymlinksInPath().path
    do { try FileManager.default.copyItem(atPath: original, toPath: target + "/" + file.name) } catch {
      guard FileManager.default.fileExists(atPath: folder + "/" + file.name) else {
        throw BothyError(
          .damagedFile, "The file \(folder)/\(file.name) of a pack is not there. Get or build the pack again."
        )
      }
      throw BothyError(
        .cannotWrite,
        "\(target)/\(file.name) can't be written. Check the permissions of its folder and the room on the disk.",
        underlying: error)
    }
  }

  func finish(_ manifest: Pack.Manifest) async {}
}

/// A pack at an address, loaded through a cache.
struct CacheSupply: PackSource {
  private let source: ResourceSource
  private let cache: ResourceCache

  init(_ source: ResourceSource, _ cache: ResourceCache) throws {
    self.source = source
    self.cache = cache
    do { try cache.register(source) } catch { throw Self.failure(error, source.id.name) }
  }

  var name: String { source.id.name }

  func manifest() async throws -> Pack.Manifest {
    var options = ResourceCache.Options(policy: .remoteElseLocal)
    // An installation by an old list would miss the new version.
    options.waitsForEnd = true
    return try Pack.Manifest(parsing: await bytes(Pack.Manifest.fileName, options), of: name)
  }

  /// Fetches one file. If the cache has another version of it, requests the current one from the server.
  func fetch(_ file: Pack.Manifest.File, into folder: String) async throws {
    var bytes = try await bytes(file.name, ResourceCache.Options())
    if Checksum.sha256(of: Array(bytes)) != file.sha256 {
      bytes = try await self.bytes(file.name, .reload)
    }
    do { try bytes.write(to: URL(filePath: folder + "/" + file.name)) } catch {
      throw BothyError(
        .cannotWrite, "\(folder)/\(file.name) can't be written. Check the room on the disk.",
        underlying: error)
    }
  }

  func finish(_ manifest: Pack.Manifest) async {
    for file in manifest.files {
      // The cache's limits bound the rest.
      if let key = try? source.key(path: file.name) { try? await cache.remove(key) }
    }
  }

  private func bytes(_ path: String, _ options: ResourceCache.Options) async throws -> Data {
    do {
      let resource = try await cache.value(try source.key(path: path), options)
      guard let bytes = resource.bytes else {
        throw BothyError(
          .absent, "The server has no \(path).", status: resource.metadata.status)
      }
      return bytes
    } catch { throw Self.failure(error, name) }
  }

  private static func failure(_ error: any Error, _ name: String) -> BothyError {
    let isCancelled = (error as? BothyError)?.code == .cancelled
    return BothyError(
      isCancelled ? .cancelled : .download,
      "The pack \(name) could not be loaded: \(error) Installed versions stay.",
      underlying: error)
  }
}
