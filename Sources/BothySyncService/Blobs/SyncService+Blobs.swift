import BothyStore

/// The blobs of a space: their state, uploads and downloads, for users who may enter the space.
extension SyncService {
  /// Returns how much of a blob the space has. Uses no transaction, only the vault.
  ///
  /// An upload continues at the end of the stored part. A whole blob that no operation has named yet is kept longer by
  /// this call.
  ///
  /// - Throws: `BlobError` `unsupported` without a vault, and `invalid` for a name that isn't a SHA-256 in lower case.
  public func blobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    try await vault(for: sha256).holding(of: sha256, in: space)
  }

  /// Like `blobHolding(space:_:)`, but reads all of the blob's bytes. A damaged one is quarantined and requested from
  /// the devices.
  ///
  /// A blob that is missing or incomplete is requested too. That uses one short transaction. Throws like `blobHolding`.
  public func verifiedBlobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    let holding = try await vault(for: sha256).verifiedHolding(of: sha256, in: space)
    if case .part = holding { try await wantBlob(space: space, sha256) }
    return holding
  }

  /// Requests a missing blob from the devices, after a reader requested it.
  ///
  /// Uses one short transaction, as the upkeep of the space finds out if records name it. At most a thousand blobs of a
  /// space are wanted at a time, and further ones are ignored. Throws like `blobHolding`.
  public func wantBlob(space: String, _ sha256: String) async throws {
    try await vault(for: sha256).want([sha256], in: space, limit: FixedLimits.wantedBlobs)
    try await storage.upkeep?.makeDue(space: space)
  }

  /// Returns the blobs that an answer requests from the device, by names that reveal nothing to devices without the
  /// blob.
  func wantedBlobs(in space: String) async throws -> [String] {
    try await blobs?.wanted(in: space, limit: FixedLimits.wantedBlobsReported).map { BlobWish.name(of: $0) }
      ?? []
  }

  /// Accepts a part of a blob if it continues the stored ones, and returns how much is stored then.
  ///
  /// A part at another offset is left out without an error. Continue at the returned number of bytes. Uses no
  /// transaction, except a short one after the last part, as the upkeep of the space finds out if records name the
  /// blob.
  ///
  /// - Throws: `BlobError` `invalid` for a part outside of the blob's size, and `tooLarge` or `quotaExceeded` by the
  ///   vault's limits. `checksumMismatch` after the last part, which deletes all of them: upload the blob again.
  ///   `unsupported` without a vault.
  public func uploadBlob(space: String, _ part: BlobPart) async throws -> BlobHolding {
    let vault = try vault(for: part.sha256)
    guard part.offset >= 0, part.size >= 0, part.offset <= part.size,
      Int64(part.bytes.count) <= part.size - part.offset
    else { throw BlobError(.invalid, "The part does not lie within the blob's size.") }
    let holding = try await vault.append(part, in: space)
    if case .whole = holding { try await storage.upkeep?.makeDue(space: space) }
    return holding
  }

  /// Returns bytes of a blob, fewer at its end.
  ///
  /// Uses no transaction, except a short one for a missing blob, which is then requested from the devices. A range
  /// beyond the end gives an empty array.
  ///
  /// - Throws: `BlobError` `notFound` if the space lacks a part of the blob. Otherwise like `blobHolding`.
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
