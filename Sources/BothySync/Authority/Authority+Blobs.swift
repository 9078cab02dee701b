import BothyStore

/// The bytes that records name: asked for, taken and given, for those who may enter the space.
extension Authority {
  /// How much of a blob the space has. No transaction: the vault is asked. Throws `BlobProblem`.
  public func blobHolding(space: String, _ sha256: String) async throws -> BlobHolding {
    try await vault(for: sha256).holding(of: sha256, in: space)
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
    try await vault(for: sha256).read(sha256, range, in: space)
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
  func keepBlobs(namedBy operations: [Operation], in space: String) async throws {
    guard let blobs, !operations.isEmpty, await blobs.hasUnnamed(in: space) else { return }
    var named: Set<String> = []
    for operation in operations {
      for value in operation.fields.values { if let blob = Blob(value) { named.insert(blob.sha256) } }
    }
    if !named.isEmpty { try await blobs.keep(named, in: space) }
  }
}
