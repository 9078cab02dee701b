import BothyStore

/// The blobs of a space: their state, uploads and downloads, for users who may enter the space.
extension SyncService {
  /// Returns how much of a blob the space has. Uses no transaction, only the vault. Throws `BlobError`.
  public func blobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    try await vault(for: sha256).holding(of: sha256, in: space)
  }

  /// Like `blobHolding(space:_:)`, but reads all of the blob's bytes. A damaged one is quarantined and requested from
  /// the devices. That uses one short transaction. Throws `BlobError`.
  public func verifiedBlobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    let holding = try await vault(for: sha256).verifiedHolding(of: sha256, in: space)
    if case .part = holding { try await wantBlob(space: space, sha256) }
    return holding
  }

  /// Requests a missing blob from the devices, after a reader requested it. Uses one short transaction, as the upkeep
  /// of the space finds out if records name it. Throws `BlobError`.
  public func wantBlob(space: String, _ sha256: String) async throws {
    try await vault(for: sha256).want([sha256], in: space, limit: FixedLimits.wantedBlobs)
    try await storage.upkeep?.makeDue(space: space)
  }

  /// Returns the blobs that an answer requests from the device, by names that reveal nothing to devices without the
  /// blob.
  func wantedBlobs(in space: String) async throws -> [String] {
    try await blobs?.wanted(in: space, limit: FixedLimits.wantedBlobsTold).map { BlobWish.name(of: $0) } ?? []
  }

  /// Accepts a part of a blob if it continues the stored ones. Uses no transaction, except a short one after the last
  /// part, as the upkeep of the space finds out if records name the blob. Throws `BlobError`.
  public func uploadBlob(space: String, _ part: BlobPart) async throws -> BlobHolding {
    let vault = try vault(for: part.sha256)
    guard part.offset >= 0, part.size >= 0, part.offset <= part.size,
      Int64(part.bytes.count) <= part.size - part.offset
    else { throw BlobError(.invalid, "The part does not lie within the blob's size.") }
    let holding = try await vault.append(part, in: space)
    if case .whole = holding { try await storage.upkeep?.makeDue(space: space) }
    return holding
  }

  /// Returns bytes of a blob, fewer at its end. Uses no transaction, except a short one for a missing blob. Throws `BlobError` `.notFound` if the space
  /// lacks a part of the blob.
  public func downloadBlob(space: String, _ sha256: String, _ range: Range<Int64>) async throws -> [UInt8] {
    let vault = try vault(for: sha256)
    do { return try await vault.read(sha256, range, in: space) } catch let problem as BlobError {
      if problem.code == .notFound { try await wantBlob(space: space, sha256) }
      throw problem
    }
  }

  private func vault(for sha256: String) throws -> any BlobFileStorage {
    guard let blobs else { throw BlobError(.unsupported, "This server keeps no blobs.") }
    guard Blob.isName(sha256) else {
      throw BlobError(.invalid, "A blob's name is its SHA-256 in lower-case hexadecimal.")
    }
    return blobs
  }

  /// Keeps the blobs that the operations name, before those are applied. A blob of a rejected operation costs room, but
  /// a swept one is lost. Without fresh uploads in the space it does nothing.
  func keepBlobs(namedBy operations: [SyncOperation], in space: String) async throws {
    try await keepBlobs(namedIn: operations.lazy.map(\.fields), in: space)
  }

  /// Keeps the blobs that the fields of records name. The storage of blobs isn't used if they name none.
  func keepBlobs(namedIn records: some Collection<[String: JSONValue]>, in space: String) async throws {
    guard let blobs else { return }
    var named: Set<String> = []
    for fields in records {
      for value in fields.values { if let blob = Blob(value) { named.insert(blob.sha256) } }
    }
    guard !named.isEmpty, await blobs.hasUnnamed(in: space) else { return }
    try await blobs.keep(named, in: space)
  }
}
