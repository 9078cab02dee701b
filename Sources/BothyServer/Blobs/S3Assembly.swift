import BothySyncService
import Crypto

/// Makes one object of others and of bytes at the end, with a few pieces of it in memory.
///
/// A larger object than a piece is uploaded in parts, and exists once it is complete. After a crash the parts remain until
/// the sweep.
struct S3Assembly: Sendable {
  enum End: Sendable, Equatable {
    case stored
    /// The bytes have another checksum. Nothing was stored.
    case mismatch
    /// A source is missing or has another size than before. Nothing was stored.
    case changed
  }

  private struct Changed: Error {}

  let client: S3Client
  /// The bytes that are read and written at a time. S3 takes parts of five mebibytes or more, and ten thousand of them.
  let pieceSize: Int

  /// Stores the bytes of the sources and of `rest` under a key.
  ///
  /// - Parameters:
  ///   - size: the bytes of all of it.
  ///   - sha256: the checksum that the bytes must have, or `nil` for any.
  ///   - before: is called before the object exists, once its bytes are known to be right.
  func store(
    _ key: String, size: Int64, from sources: [S3Object], _ rest: [UInt8] = [], sha256: String?,
    before: () async throws -> Void = {}
  ) async throws -> End {
    let partSize = max(pieceSize, Int(clamping: size / 10_000 + 1))
    guard size > Int64(partSize) else {
      let bytes: [UInt8]
      do { bytes = try await gathered(sources, rest) } catch is Changed { return .changed }
      guard sha256 == nil || S3Signature.hash(bytes) == sha256 else { return .mismatch }
      try await before()
      try await client.put(key, bytes)
      return .stored
    }
    let id = try await client.beginUpload(key)
    do {
      let end = try await upload(key, id, partSize, sources, rest, sha256, before)
      if end != .stored { try await client.abortUpload(key, id) }
      return end
    } catch {
      // The sweep removes what a failed abort leaves.
      try? await client.abortUpload(key, id)
      throw error
    }
  }

  private func upload(
    _ key: String, _ id: String, _ partSize: Int, _ sources: [S3Object], _ rest: [UInt8], _ sha256: String?,
    _ before: () async throws -> Void
  ) async throws -> End {
    var (hash, tags, waiting): (SHA256, [String], [UInt8]) = (SHA256(), [], [])
    do {
      try await forEachPiece(sources, rest) { piece in
        hash.update(data: piece)
        waiting += piece
        while waiting.count >= partSize {
          let part = Array(waiting.prefix(partSize))
          waiting.removeFirst(partSize)
          tags.append(try await client.putPart(key, id, number: tags.count + 1, part))
        }
      }
    } catch is Changed { return .changed }
    if !waiting.isEmpty { tags.append(try await client.putPart(key, id, number: tags.count + 1, waiting)) }
    guard sha256 == nil || hash.finalize().hexadecimal == sha256 else { return .mismatch }
    try await before()
    try await client.completeUpload(key, id, tags: tags)
    return .stored
  }

  /// Returns the SHA-256 of an object, or `nil` if it is missing or has another size than before. Reads all of it.
  func digest(of object: S3Object) async throws -> String? {
    var hash = SHA256()
    do { try await forEachPiece([object], []) { hash.update(data: $0) } } catch is Changed { return nil }
    return hash.finalize().hexadecimal
  }

  private func gathered(_ sources: [S3Object], _ rest: [UInt8]) async throws -> [UInt8] {
    var bytes: [UInt8] = []
    try await forEachPiece(sources, rest) { bytes += $0 }
    return bytes
  }

  private func forEachPiece(
    _ sources: [S3Object], _ rest: [UInt8], _ body: ([UInt8]) async throws -> Void
  ) async throws {
    for source in sources {
      var offset: Int64 = 0
      while offset < source.size {
        let end = min(source.size, offset + Int64(pieceSize))
        guard let piece = try await client.get(source.key, offset..<end), piece.count == Int(end - offset)
        else { throw Changed() }
        try await body(piece)
        offset = end
      }
    }
    if !rest.isEmpty { try await body(rest) }
  }
}
