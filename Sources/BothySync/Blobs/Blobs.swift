public import BothyStore
public import Foundation

/// The bytes that records name with `Blob` fields. They live outside the rows, in files named by their content in the folder
/// `<database>-blobs`, and reach the server before the records that name them.
///
///     let photo = try await store.blobs.put(data, type: "image/jpeg")
///     try await store.save(Note(title: "Milk", photo: photo))
///     let bytes = try await store.blobs.data(for: photo)
///
/// File work is done off the threads of tasks, a quarter of a megabyte at a time.
public struct Blobs: Sendable {
  let store: SyncedStore

  private var folder: BlobFolder { store.blobFolder }

  // MARK: putting

  /// Keeps bytes on this device and returns the name to put into a record. One file and one transaction; the same content
  /// is kept once. Throws `StoreError`, `.diskFull` among them; then nothing is kept.
  public func put(_ data: Data, type: String? = nil) async throws -> Blob {
    let folder = folder
    let stored = try await FileWork.run {
      var rest = data[...]
      return try folder.store {
        defer { rest = rest.dropFirst(ContentFile.pieceSize) }
        return [UInt8](rest.prefix(ContentFile.pieceSize))
      }
    }
    return try await note(stored, type)
  }

  /// The same for a file, which is copied with little memory, whatever its size. Throws `StoreError` `.notFound` where
  /// there is none.
  public func put(contentsOf file: URL, type: String? = nil) async throws -> Blob {
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
    return try await note(stored, type)
  }

  private func note(_ stored: (sha256: String, size: Int64), _ type: String?) async throws -> Blob {
    folder.touch(stored.sha256, at: store.clock.now())
    try await store.store.write(origin: .remote) {
      try BlobTable.put(stored.sha256, size: stored.size, in: $0)
    }
    return Blob(sha256: stored.sha256, size: Int(clamping: stored.size), contentType: type)
  }

  // MARK: reading

  /// All bytes of a blob, checked against its name. Reads the local file, else downloads it in parts, going on where an
  /// earlier try was cut off.
  ///
  /// Throws `SyncError`: `.blobMissing` when it is nowhere, `.blobDamaged` when the server's bytes have another checksum,
  /// `.unreachable` and the other network codes; `StoreError` for the disk.
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

  /// A local file with a blob's bytes, checked, for reading only. Downloads it first if it is not here. The file may go
  /// when the budget is enforced: pin the blob, or hold it open, for longer use. Throws as `data(for:)`.
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

  /// A blob's bytes in pieces of at most a quarter of a megabyte, read as they are asked for. The file is checked
  /// before the first. Throws as `data(for:)`.
  public func pieces(of blob: Blob) -> AsyncThrowingStream<Data, any Error> {
    let reader = PieceReader(blobs: self, blob: blob)
    return AsyncThrowingStream { try await reader.next() }
  }

  /// Makes sure that a blob's bytes are here. No request when they are, else one for each `BlobOptions.partSize`.
  /// Throws as `data(for:)`.
  public func download(_ blob: Blob) async throws {
    guard folder.size(of: blob.sha256) == nil else { return }
    try await store.downloads.run(blob, in: store)
  }

  private func damaged(_ blob: Blob) -> SyncError {
    SyncError(
      .blobDamaged,
      "The file of the blob \(blob.sha256) does not have the checksum that names it. Put it again.")
  }

  // MARK: state

  /// Where a blob's bytes are. Reads the database and looks for the file; makes no request.
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

  /// Whether a blob's bytes are on this device, so that they can be read without a network.
  public func isHere(_ blob: Blob) -> Bool { folder.size(of: blob.sha256) != nil }

  /// What waits to be uploaded: the blobs named by pending records that the server is not known to have. Reads the
  /// pending records.
  public func backlog() throws -> BlobBacklog {
    try store.store.read { transaction in
      var backlog = BlobBacklog()
      for (name, size) in try BlobTable.namedByPending(in: transaction) {
        let row = try BlobTable.row(name, in: transaction)
        guard row?.state != .onServer else { continue }
        backlog.count += 1
        // What records of others say is not to be trusted.
        backlog.bytes = backlog.bytes.addingClamped(max(0, row?.size ?? size))
        backlog.sent = backlog.sent.addingClamped(row?.sent ?? 0)
      }
      return backlog
    }
  }

  // MARK: keeping

  /// Keeps a blob's bytes on this device whatever the budget, once they are here. One transaction.
  public func pin(_ blob: Blob) throws { try setPinned(true, blob) }
  /// Lets the budget count for the blob again; nothing is removed by this. One transaction, as `pin`.
  public func unpin(_ blob: Blob) throws { try setPinned(false, blob) }

  private func setPinned(_ isPinned: Bool, _ blob: Blob) throws {
    try store.store.write(origin: .remote) { try BlobTable.setPinned(isPinned, blob, in: $0) }
  }

  /// Removes the bytes used longest ago until at most `budget` are left (nil: the configured budget), and what no record
  /// names and nobody has used for a week. Never removes what is pending or pinned: those may exceed the budget. Returns what went.
  @discardableResult
  public func evict(toFit budget: Int64? = nil) async throws -> BlobEvictionResult {
    try await BlobEviction(store.engine.pass).run(budget: budget ?? store.configuration.blobs.budget)
  }
}

extension SyncedStore {
  /// The bytes that records name with `Blob` fields.
  public var blobs: Blobs { Blobs(store: self) }
}

/// Where the bytes of a blob are.
public enum BlobState: Sendable, Hashable {
  /// On this device; the server has not acknowledged a record that names them.
  case local
  /// On this device and partly on the server.
  case uploading(sent: Int64, of: Int64)
  /// On the server, at this address; perhaps here, too (`isHere`).
  case remote(URL)
  /// Nowhere that is known of.
  case missing
}

/// How much waits to be uploaded.
public struct BlobBacklog: Sendable, Hashable {
  /// How many blobs the server lacks, wholly or in part.
  public var count = 0
  /// The size of these, together.
  public var bytes: Int64 = 0
  /// Of these bytes, how many the server has already.
  public var sent: Int64 = 0

  /// An empty backlog unless told otherwise, for comparing.
  public init(count: Int = 0, bytes: Int64 = 0, sent: Int64 = 0) {
    self.count = count
    self.bytes = bytes
    self.sent = sent
  }
}

/// What an eviction removed from this device.
public struct BlobEvictionResult: Sendable, Hashable {
  /// How many blobs; 0 when all had room.
  public var removed = 0
  /// The room that they took.
  public var bytes: Int64 = 0

  /// Nothing removed unless told otherwise, for comparing.
  public init(removed: Int = 0, bytes: Int64 = 0) {
    self.removed = removed
    self.bytes = bytes
  }
}

/// Hands out a file piece by piece.
private actor PieceReader {
  private let blobs: Blobs
  private let blob: Blob
  private var path: String?
  private var offset: Int64 = 0

  init(blobs: Blobs, blob: Blob) {
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
