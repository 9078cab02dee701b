import BothyStore
import Synchronization

/// Downloads blobs in parts. A download continues where an earlier try ended, and runs once for all its callers.
/// Cancelling one caller doesn't affect the others.
final class BlobDownloads: Sendable {
  private let lines = KeyedSemaphore<String>()
  /// The number of parts that arrived too late since the last one in time. Each quarters the size of parts, down to 16
  /// KB.
  private let lateness = Mutex(0)

  /// Returns when the bytes are on this device and have the checksum that names them. Throws `BothyError` or
  /// `BothyError`.
  func run(_ blob: Blob, in store: SyncedStore) async throws {
    let name = blob.sha256
    guard Blob.isName(name) else {
      throw BothyError(
        .blobMissing, "'\(name)' names no blob: it is not a SHA-256 in lower-case hexadecimal.")
    }
    try await lines.withPermit(of: name) {
      guard store.blobFolder.size(of: name) == nil else { return }
      do { try await fetch(blob, store) } catch let error as RemoteError { throw BothyError(error) }
    }
    if let budget = store.configuration.blobs.budget {
      try await BlobEviction(store.engine.runner).run(budget: budget, keeping: name)
    }
  }

  private func fetch(_ blob: Blob, _ store: SyncedStore) async throws {
    guard let remote = store.remote.blobs else { throw missing(blob) }
    let (folder, name, now) = (store.blobFolder, blob.sha256, store.clock.now())
    for _ in 0..<2 {
      do { try await receive(blob, from: remote, store) } catch let error as RemoteError {
        guard error.errorClass == .notFound else { throw error }
        try await store.store.write(origin: .remote) {
          try BlobTable.setMissing(name, size: Int64(blob.size), in: $0)
        }
        throw missing(blob)
      }
      if try await FileWork.run({ try folder.finish(name) }) {
        folder.touch(name, at: now)
        let size = folder.size(of: name) ?? Int64(blob.size)
        return try await store.store.write(origin: .remote) {
          try BlobTable.confirm(name, size: size, at: now, in: $0)
        }
      }
    }
    // The server then requests the blob from devices that have it. The blob is damaged even if this request fails.
    _ = try? await remote.verifiedHolding(of: name)
    throw BothyError(
      .blobDamaged,
      "What the server gives as the blob \(name) has another checksum. It was told so, and takes it from the next "
        + "device that holds it: try again later."
    )
  }

  private func receive(_ blob: Blob, from remote: any BlobRemote, _ store: SyncedStore) async throws {
    let (folder, name) = (store.blobFolder, blob.sha256)
    var offset = folder.received(of: name)
    while offset < blob.size {
      try Task.checkCancellation()
      let size = store.configuration.blobs.partSize
      let part = max(min(size, 16 << 10), size >> (2 * lateness.withLock { $0 }))
      let bytes: [UInt8]
      do {
        bytes = try await remote.download(name, offset..<min(Int64(blob.size), offset + Int64(part)))
      } catch {
        if error.code == "timeout" { lateness.withLock { $0 = min($0 + 1, 8) } }
        throw error
      }
      guard !bytes.isEmpty else { return }  // shorter than in the record: the checksum check fails
      let start = offset
      try await FileWork.run { try folder.append(bytes, to: name, at: start) }
      offset += Int64(bytes.count)
    }
    lateness.withLock { $0 = 0 }
  }

  private func missing(_ blob: Blob) -> BothyError {
    BothyError(
      .blobMissing,
      "The bytes of the blob \(blob.sha256) are neither here nor on the server. Add them again, or try again when a "
        + "device that has them has synced.")
  }
}
