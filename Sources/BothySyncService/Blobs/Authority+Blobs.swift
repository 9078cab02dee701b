import BothyStore

/// The bytes that records name: asked for, taken and given, for those who may enter the space.
extension Authority {
  /// How much of a blob the space has. No transaction: the vault is asked. Throws `BlobProblem`.
  public func blobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    try await vault(for: sha256).holding(of: sha256, in: space)
  }

  /// The same after reading all of its bytes: one that is damaged is put aside, and the devices are asked for it. No
  /// transaction. Throws `BlobProblem`.
  public func verifiedBlobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    let vault = try vault(for: sha256)
    let holding = try await vault.verifiedHolding(of: sha256, in: space)
    if case .part = holding { try await vault.want([sha256], in: space, limit: Self.wishLimit) }
    return holding
  }

  /// Asks the devices for a blob that somebody wanted to read and that is not there. No transaction. Throws `BlobProblem`.
  public func wantBlob(space: String, _ sha256: String) async throws {
    try await vault(for: sha256).want([sha256], in: space, limit: Self.wishLimit)
  }

  /// The most wanted blobs of a space that were asked for by readers: what they ask for may never have been there.
  private static let wishLimit = 1000

  /// The most blobs that one answer asks for.
  private static let wishesTold = 500

  /// What an answer asks the device for, by names that tell nothing to those who have not the blob.
  func wantedBlobs(in space: String) async throws -> [String] {
    try await blobs?.wanted(in: space, limit: Self.wishesTold).map { BlobWish.name(of: $0) } ?? []
  }

  /// Takes a part of a blob where it continues what the space has. No transaction. Throws `BlobProblem`.
  public func uploadBlob(space: String, _ part: BlobPart) async throws -> BlobHolding {
    let vault = try vault(for: part.sha256)
    guard part.offset >= 0, part.size >= 0, part.offset <= part.size,
      Int64(part.bytes.count) <= part.size - part.offset
    else { throw BlobProblem(.invalid, "The part does not lie within the blob's size.") }
    return try await vault.append(part, in: space)
  }

  /// Bytes of a blob, fewer at its end. No transaction. Throws `BlobProblem` `.notFound` when the space has it not, or
  /// not whole.
  public func downloadBlob(space: String, _ sha256: String, _ range: Range<Int64>) async throws -> [UInt8] {
    let vault = try vault(for: sha256)
    do { return try await vault.read(sha256, range, in: space) } catch let problem as BlobProblem {
      if problem.code == .notFound { try await wantBlob(space: space, sha256) }
      throw problem
    }
  }

  private func vault(for sha256: String) throws -> any BlobVault {
    guard let blobs else { throw BlobProblem(.unsupported, "This server keeps no blobs.") }
    guard Blob.isName(sha256) else {
      throw BlobProblem(.invalid, "A blob's name is its SHA-256 in lower-case hexadecimal.")
    }
    return blobs
  }

  /// Keeps what the operations name before they are carried out: a blob kept for an operation that is refused costs room,
  /// one that was swept is lost. Without fresh uploads in the space there is nothing to look for.
  func keepBlobs(namedBy operations: [SyncOperation], in space: String) async throws {
    guard let blobs, !operations.isEmpty, await blobs.hasUnnamed(in: space) else { return }
    var named: Set<String> = []
    for operation in operations {
      for value in operation.fields.values { if let blob = Blob(value) { named.insert(blob.sha256) } }
    }
    if !named.isEmpty { try await blobs.keep(named, in: space) }
  }
}
