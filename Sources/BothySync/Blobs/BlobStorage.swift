import BothyStore
public import Foundation

/// The bytes that records name with `Blob` fields. They are stored outside of the rows, in files named by their content
/// in the folder `<database>-blobs`. They are sent to the server before the records that name them.
///
/// ```swift
/// let image = try await store.blobs.add(jpeg, contentType: "image/jpeg")
/// try await store.save(Photo(caption: "Finse", image: image))
/// let bytes = try await store.blobs.data(for: image)
/// ```
///
/// File work runs outside of the threads of tasks, a quarter of a megabyte at a time.
public struct BlobStorage: Sendable {
  let store: SyncedStore

  private var folder: BlobFolder { store.blobFolder }

  // MARK: adding

  /// Stores bytes on this device and returns the name for a record. Uses one file and one transaction, and
  /// stores equal content once.
  ///
  /// It is sent with the sync that sends a record with this name. Without such a record it may be deleted after
  /// a week.
  ///
  /// - Parameter contentType: the media type for readers, such as `image/jpeg`. It isn't checked.
  /// - Throws: `BothyError`, such as `.diskFull`; then nothing is stored.
  public func add(_ data: Data, contentType: String? = nil) async throws -> Blob {
    let folder = folder
    let stored = try await FileWork.run {
      var rest = data[...]
      return try folder.store {
        defer { rest = rest.dropFirst(ContentFile.pieceSize) }
        return [UInt8](rest.prefix(ContentFile.pieceSize))
      }
    }
    return try await note(stored, contentType)
  }

  /// Stores a copy of a file, with little memory for any size. The file itself isn't needed afterwards.
  ///
  /// ```swift
  /// let image = try await store.blobs.add(contentsOf: pictureURL, contentType: "image/jpeg")
  /// ```
  ///
  /// - Throws: `BothyError` `.notFound` if the file doesn't exist, and otherwise like `add(_:contentType:)`.
  public func add(contentsOf file: URL, contentType: String? = nil) async throws -> Blob {
    let (folder, path) = (folder, file.path)
    let stored = try await FileWork.run {
      let source = try OpenFile(path, O_RDONLY)
      var offset: Int64 = 0
      return try folder.store {
        let piece = try source.read(at: offset, count: ContentFile.pieceSize)
        offset += Int64(piece.count)
        return piece
      }
    }
    return try await note(stored, contentType)
  }

  private func note(_ stored: (sha256: String, size: Int64), _ type: String?) async throws -> Blob {
    folder.touch(stored.sha256, at: store.clock.now())
    try await store.store.write(origin: .remote) {
      try BlobTable.put(stored.sha256, size: stored.size, in: $0)
    }
    return Blob(sha256: stored.sha256, size: Int(clamping: stored.size), contentType: type)
  }

  // MARK: reading

  /// Returns all bytes of a blob, checked against its name. Reads the local file, or downloads it in parts and
  /// continues an interrupted download.
  ///
  /// All bytes are in memory; for large ones use `pieces(of:)`. One request for each mebibyte, and one download
  /// for all callers. A cancelled task keeps the parts that have arrived.
  ///
  /// - Throws: `BothyError` `.blobMissing` if neither this device nor the server has it, and `.blobDamaged` if
  ///   the server's bytes have another checksum. Throws `.unreachable` and the other network codes, and
  ///   `BothyError` for the disk.
  public func data(for blob: Blob) async throws -> Data {
    let (folder, now) = (folder, store.clock.now())
    for _ in 0..<2 {
      try await download(blob)
      let data = try await FileWork.run { () -> Data? in
        guard let size = folder.size(of: blob.sha256) else { return nil }
        let bytes = try folder.read(blob.sha256, at: 0, count: Int(size))
        guard ContentFile.sha256(of: bytes) == blob.sha256 else {
          folder.remove(blob.sha256)
          return nil
        }
        folder.touch(blob.sha256, at: now)
        return Data(bytes)
      }
      if let data { return data }
    }
    throw damaged(blob)
  }

  /// Returns a local file with a blob's bytes, checked, for reading only. Downloads it first if this device
  /// lacks it.
  ///
  /// Each call reads the whole file to check it. The file may be deleted when the budget is enforced: pin the
  /// blob, or keep it open, for longer use. Throws like `data(for:)`.
  public func file(for blob: Blob) async throws -> URL {
    let (folder, now) = (folder, store.clock.now())
    for _ in 0..<2 {
      try await download(blob)
      let isIntact = try await FileWork.run {
        guard folder.size(of: blob.sha256) != nil else { return false }
        guard try folder.isIntact(blob.sha256) else {
          folder.remove(blob.sha256)
          return false
        }
        folder.touch(blob.sha256, at: now)
        return true
      }
      if isIntact { return URL(fileURLWithPath: folder.path(of: blob.sha256)) }
    }
    throw damaged(blob)
  }

  /// Returns a blob's bytes in pieces of at most a quarter of a megabyte, read on demand. The file is checked
  /// before the first.
  ///
  /// ```swift
  /// var size = 0
  /// for try await piece in store.blobs.pieces(of: photo.image) { size += piece.count }
  /// ```
  ///
  /// The download begins with the first piece that is read, and is complete before it arrives. Throws like
  /// `data(for:)`.
  public func pieces(of blob: Blob) -> AsyncThrowingStream<Data, any Error> {
    let reader = PieceReader(blobs: self, blob: blob)
    return AsyncThrowingStream { try await reader.next() }
  }

  /// Downloads a blob's bytes, unless they are on this device. Makes one request for each
  /// `SyncOptions.BlobOptions.partSize`. Throws like `data(for:)`.
  package func download(_ blob: Blob) async throws {
    guard folder.size(of: blob.sha256) == nil else { return }
    try await store.downloads.run(blob, in: store)
  }

  private func damaged(_ blob: Blob) -> BothyError {
    BothyError(
      .blobDamaged,
      "The file of the blob \(blob.sha256) does not have the checksum that names it. Put it again.")
  }

  // MARK: state

  /// Returns where a blob's bytes are. Reads the database and checks the file, without a request.
  ///
  /// It runs on the calling thread. `.remote` is assumed for a blob of a record that came with a pull.
  public func state(of blob: Blob) throws -> BlobState {
    let isHere = folder.size(of: blob.sha256) != nil
    return try store.store.read { transaction in
      let row = try BlobTable.row(blob.sha256, in: transaction)
      switch row?.state {
      case .missing?: return isHere ? .local : .missing
      case .pending?:
        guard let row, isHere else { return .missing }
        return row.sent > 0 ? .uploading(sent: row.sent, of: row.size) : .local
      case .onServer?, nil:
        if isHere, try BlobTable.isUnacknowledged(blob.sha256, in: transaction) { return .local }
        if let url = store.remote.blobs?.url(of: blob.sha256) { return .remote(url) }
        return isHere ? .local : .missing
      }
    }
  }

  /// Returns true if a blob's bytes are on this device and can be read without a network.
  package func isHere(_ blob: Blob) -> Bool { folder.size(of: blob.sha256) != nil }

  /// Returns the blobs that wait to be uploaded: those named by pending records that the server isn't known to
  /// have.
  ///
  /// Reads the pending records on the calling thread, without a request. Drafts and rejected changes count.
  public func backlog() throws -> Backlog {
    try store.store.read { transaction in
      var backlog = Backlog()
      for (name, size) in try BlobTable.namedByPending(in: transaction) {
        let row = try BlobTable.row(name, in: transaction)
        guard row?.state != .onServer else { continue }
        // The server has a blob that came with a pull and that its record still names.
        if row == nil, try !BlobTable.isUnacknowledged(name, in: transaction) { continue }
        backlog.count += 1
        // Sizes in records of others can't be trusted.
        backlog.bytes = backlog.bytes.addingClamped(max(0, row?.size ?? size))
        backlog.sent = backlog.sent.addingClamped(row?.sent ?? 0)
      }
      return backlog
    }
  }

  // MARK: keeping

  /// Keeps a blob's bytes on this device, whatever the budget, after they are stored or downloaded. Uses one
  /// transaction on the calling thread.
  ///
  /// It downloads nothing: call `file(for:)` for that. The file remembers it after a relaunch.
  public func pin(_ blob: Blob) throws { try setPinned(true, blob) }
  /// Makes the blob count for the budget again, without deleting anything. Uses one transaction, like `pin`.
  ///
  /// A blob that isn't pinned stays as it is.
  public func unpin(_ blob: Blob) throws { try setPinned(false, blob) }

  private func setPinned(_ isPinned: Bool, _ blob: Blob) throws {
    try store.store.write(origin: .remote) { try BlobTable.setPinned(isPinned, blob, in: $0) }
  }

  /// Deletes the bytes used longest ago until at most `budget` are left; `nil` is the configured budget. Also
  /// deletes blobs without a record that were not used for a week.
  ///
  /// Costs one request for each blob to evict, since the server must confirm that it has it. Without an answer
  /// those stay. One that the server lacks is uploaded again, unless syncing is paused or the network rules forbid
  /// it. Never deletes pending or pinned blobs, or those of content that the journal can restore, so those
  /// may exceed the budget. Returns the number of bytes that were deleted. Throws `BothyError` for the file.
  @discardableResult
  public func evict(toFit budget: Int64? = nil) async throws -> Int64 {
    try await eviction(toFit: budget).bytes
  }

  /// Like `evict(toFit:)`, with the number of blobs.
  package func eviction(toFit budget: Int64? = nil) async throws -> Eviction {
    try await BlobEviction(store.engine.runner).run(budget: budget ?? store.configuration.blobs.budget)
  }
}

extension SyncedStore {
  /// The bytes that records name with `Blob` fields. Making it reads nothing.
  public var blobs: BlobStorage { BlobStorage(store: self) }
}

extension BlobStorage {
  /// The blobs that wait to be uploaded.
  public struct Backlog: Sendable, Hashable {
    /// The number of blobs that the server lacks, wholly or in part.
    public var count = 0
    /// The total size of these blobs, in bytes. Parts that the server has received already are included.
    public var bytes: Int64 = 0
    /// The number of these bytes that the server has already.
    package var sent: Int64 = 0

    /// Makes a backlog, empty by default, for comparing.
    package init(count: Int = 0, bytes: Int64 = 0, sent: Int64 = 0) {
      self.count = count
      self.bytes = bytes
      self.sent = sent
    }
  }
}

extension BlobStorage {
  /// The blobs that an eviction deleted from this device.
  package struct Eviction: Sendable, Hashable {
    /// The number of blobs; 0 if all fit in the budget.
    package var removed = 0
    /// The total size of these blobs.
    package var bytes: Int64 = 0

    /// Makes a result, empty by default, for comparing.
    package init(removed: Int = 0, bytes: Int64 = 0) {
      self.removed = removed
      self.bytes = bytes
    }
  }
}

/// Reads a file piece by piece.
private actor PieceReader {
  private let blobs: BlobStorage
  private let blob: Blob
  private var path: String?
  private var offset: Int64 = 0

  init(blobs: BlobStorage, blob: Blob) {
    self.blobs = blobs
    self.blob = blob
  }

  func next() async throws -> Data? {
    if path == nil { path = try await blobs.file(for: blob).path }
    guard let path else { return nil }
    let start = offset
    let piece = try await FileWork.run {
      try OpenFile(path, O_RDONLY).read(at: start, count: ContentFile.pieceSize)
    }
    offset += Int64(piece.count)
    return piece.isEmpty ? nil : Data(piece)
  }
}
