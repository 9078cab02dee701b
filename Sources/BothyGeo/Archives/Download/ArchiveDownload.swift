public import BothyCache
import Foundation
import HTTPTypes
import Synchronization

extension TileArchives {
  /// Downloads an archive to a file, or does nothing if the file has the server's version already.
  ///
  /// The parts that came are kept beside the file, also after the end of the process, and the next call goes on after
  /// them. If the archive is replaced on the server, the download begins anew, so it never has parts of two versions.
  ///
  /// The file is replaced only when every tile was read and unpacked, at once and whole. Readers have the old archive
  /// until then. A source of this file (`ResourceSource.init(_:archive:)`) has the new tiles from the next read on.
  ///
  /// Costs a request for each MB, and a read of every tile. The server must send parts of files (RFC 9110, section 14).
  /// The file's name with `.download` and `.version` at its end belongs to the download.
  ///
  /// - Parameters:
  ///   - userAgent: the identification of the app that map servers require.
  ///   - progress: called after each part.
  /// - Returns: the metadata of the archive.
  /// - Throws: `BothyError`: `unavailable` if the server doesn't send it or it can't be written, `.cancelled`,
  ///   `damagedArchive` or `notAnArchive`. The file is then as before.
  @discardableResult
  public static func download(
    url: String, to path: String, loader: any ResourceLoader, userAgent: String? = nil,
    progress: @Sendable (ResourceCache.Progress) -> Void = { _ in }
  ) async throws -> TileArchiveInfo {
    var order = FetchOrder([url])
    order.requiresUserAgent = false
    if let userAgent { order.fields[.userAgent] = userAgent }
    return try await ArchiveDownload(order, Fetcher(loader), to: path).perform(progress)
  }
}

/// The download of one archive to one file.
package struct ArchiveDownload {
  private let path: String
  private let address: UInt64
  private let file: HTTPRangeSource
  private let heard: HeardFields
  private let partSize: UInt64

  /// The number of times that a download begins anew because the archive was replaced meanwhile.
  private static let attempts = 3

  /// The fields of the last part.
  private final class HeardFields: Sendable {
    let fields = Mutex(HTTPFields())
  }

  package init(_ order: FetchOrder, _ fetcher: Fetcher, to path: String, partSize: UInt64 = 1 << 20) {
    self.path = path
    self.partSize = partSize
    address = ArchiveDownloadState.address(of: order.urls.first ?? "")
    let heard = HeardFields()
    self.heard = heard
    file = HTTPRangeSource(order, fetcher) { fields in heard.fields.withLock { $0 = fields } }
  }

  private var partial: String { path + ".download" }
  private var begun: String { path + ".download.version" }
  private var installed: String { path + ".version" }

  /// Downloads the archive. Throws `BothyError` alone, as `TileArchives.download` says.
  package func perform(_ progress: (ResourceCache.Progress) -> Void) async throws -> TileArchiveInfo {
    do { return try await locked(progress) } catch let error as BothyError { throw error } catch {
      guard error is CancellationError else { throw PMTilesContents.failure(error, path) }
      throw BothyError(
        .cancelled,
        "The download of \(path) was cancelled. Download it again to go on after the parts that came.",
        underlying: error)
    }
  }

  private func locked(_ progress: (ResourceCache.Progress) -> Void) async throws -> TileArchiveInfo {
    guard let lock = try RegionLock(path + ".download.lock") else {
      throw BothyError(.unavailable, "Another process downloads \(path). Wait for its end.")
    }
    defer { lock.end() }
    try settle()
    if let info = try await current() { return info }
    for attempt in 1... {
      do {
        try await load(progress)
        return try await install()
      } catch let error as BothyError where error.code == .changedArchive && attempt < Self.attempts {
        try discard()
      }
    }
    throw CancellationError()
  }

  /// Returns the metadata of the file if it has the server's version.
  private func current() async throws -> TileArchiveInfo? {
    guard let state = ArchiveDownloadState(path: installed), state.address == address,
      let stamp = FileFingerprint(path: path), state.total.map({ $0 == stamp.size }) ?? true
    else { return nil }
    do { _ = try await file.bytes(0..<1, expecting: state.validator) } catch let error as BothyError
      where error.code == .changedArchive
    { return nil }
    // A file that isn't an archive any more is downloaded again.
    return try? await TileArchives.open(path: path).info
  }

  /// Loads the parts that are missing.
  private func load(_ progress: (ResourceCache.Progress) -> Void) async throws {
    var state = ArchiveDownloadState(path: begun)
    var place = ArchiveDownloadState.start(
      state, address: address, bytes: FileFingerprint(path: partial)?.size ?? 0)
    if place == 0 {
      try discard()
      state = nil
    }
    var total = state?.total
    // The server may have another version by now than the one that came whole in an earlier call.
    if place == total { _ = try await file.bytes(0..<1, expecting: state?.validator) }
    let output = try opened()
    defer { try? output.close() }  // Each written part is synchronized already.
    try output.seek(toOffset: place)
    while total.map({ place < $0 }) ?? true {
      try Task.checkCancellation()
      let end = min(place + partSize, total ?? .max)
      let (data, validator) = try await file.bytes(place..<end, expecting: state?.validator)
      if data.isEmpty {
        // A file that ends before the known size is another one, although the server doesn't name its version.
        if place > 0, total != nil { throw file.changed }
        break
      }
      if place == 0 {
        total = ArchiveDownloadState.total(heard.fields.withLock { $0[.contentRange] })
        // Without a validator a later process can't know that the rest is of the same version.
        state = validator.map { ArchiveDownloadState(address: address, validator: $0, total: total) }
        try state?.write(to: begun)
      }
      try output.write(contentsOf: data)
      try output.synchronize()
      place += UInt64(data.count)
      progress(
        ResourceCache.Progress(received: Int64(clamping: place), expected: total.map { Int64(clamping: $0) }))
      // Without a size, a part that is shorter than it was asked for is the last.
      if total == nil, place < end { break }
    }
    if let total, place < total {
      throw BothyError(
        .unavailable, "\(path): \(place) of \(total) bytes came. Download it again to go on after them.")
    }
  }

  private func opened() throws -> FileHandle {
    if FileFingerprint(path: partial) == nil {
      guard FileManager.default.createFile(atPath: partial, contents: nil) else {
        throw BothyError(
          .unavailable, "\(partial) can't be made. Check that its folder is there and may be written.")
      }
    }
    return try FileHandle(forUpdating: URL(fileURLWithPath: partial))
  }

  /// Reads every tile, and gives the file its name.
  private func install() async throws -> TileArchiveInfo {
    let info: TileArchiveInfo
    do {
      let archive = try await TileArchives.open(path: partial)
      _ = try await archive.check()
      info = archive.info
    } catch let error as BothyError where [.damagedArchive, .notAnArchive].contains(error.code) {
      try discard()
      throw error
    }
    // Without a validator, this file has no version, and that of the earlier file isn't its own.
    if !FileManager.default.fileExists(atPath: begun) { try remove(installed) }
    try move(partial, to: path)
    try settle()
    return info
  }

  /// Stores the version of a file that has its name already. A process that ended just before leaves this to the next.
  private func settle() throws {
    let files = FileManager.default
    guard !files.fileExists(atPath: partial), files.fileExists(atPath: begun) else { return }
    try move(begun, to: installed)
  }

  private func move(_ file: String, to place: String) throws {
    guard rename(file, place) == 0 else {
      throw BothyError(.unavailable, "\(place) can't be replaced. Check that its folder may be written.")
    }
  }

  private func discard() throws {
    try remove(begun)
    try remove(partial)
  }

  private func remove(_ path: String) throws {
    guard FileManager.default.fileExists(atPath: path) else { return }
    try FileManager.default.removeItem(atPath: path)
  }
}
