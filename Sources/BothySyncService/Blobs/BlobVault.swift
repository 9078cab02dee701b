/// The seam to where a server keeps the bytes of blobs, by space and by content.
///
/// Whoever may enter a space may have its blobs and nobody else; the same content in two spaces is kept twice, so that
/// nobody learns what others have. Every method may be called from any task and throws `BlobProblem` or `StoreError`.
public protocol BlobVault: Sendable {
  /// How much of a blob is there. Asking puts off that it is swept.
  func holding(of sha256: String, in space: String) async throws -> BlobHolding

  /// Takes a part where it continues what is there, and says what is there then. The last part makes the blob whole, if it
  /// has the checksum that names it; else everything is thrown away and `.checksumMismatch` thrown. A blob that is there and
  /// is damaged gives way; one that was wanted is kept from then on.
  func append(_ part: BlobPart, in space: String) async throws -> BlobHolding

  /// The bytes of a range of a whole blob, fewer at its end. Throws `.notFound`.
  func read(_ sha256: String, _ range: Range<Int64>, in space: String) async throws -> [UInt8]

  /// The same as `holding`, after reading all bytes of a whole blob: a damaged one is put aside and is not there any more.
  func verifiedHolding(of sha256: String, in space: String) async throws -> BlobHolding

  /// Remembers that these blobs are missing, so that devices that hold them bring them; at most `limit` of the space.
  func want(_ sha256s: Set<String>, in space: String, limit: Int) async throws

  /// Some of the wanted blobs of a space, at most `limit`, others each time where there are more.
  func wanted(in space: String, limit: Int) async throws -> [String]

  /// Whether there are whole blobs that no operation has named yet.
  func hasUnnamed(in space: String) async -> Bool

  /// Keeps these blobs, where they are there, until further notice: an operation names them.
  func keep(_ sha256s: Set<String>, in space: String) async throws

  /// Removes, in all spaces, parts and whole blobs that no operation has named, last asked for before `time`
  /// (milliseconds since 1970). Returns how many.
  func sweep(before time: Int64) async throws -> Int

  /// The blobs of a space that operations have named, with their sizes.
  func kept(in space: String) async throws -> [String: Int64]

  /// Removes those of `blobs` that are not in `named` and were neither asked for nor named since `time`; notes of the others
  /// that they are named now. Forgets that blobs are wanted that are not in `named`. Returns how many were removed.
  func release(
    _ blobs: [String: Int64], naming named: Set<String>, unnamedSince time: Int64, in space: String
  ) async throws -> Int

  /// Removes all blobs of a space, those being uploaded too.
  func remove(space: String) async throws
}

/// What a vault accepts.
public struct BlobLimits: Sendable, Hashable {
  /// The most bytes of one blob.
  public var largest: Int64
  /// The most bytes of all blobs of a space; nil for no limit.
  public var quota: Int64?

  /// A gibibyte for a blob and any number of them, unless told otherwise.
  public init(largest: Int64 = 1 << 30, quota: Int64? = nil) {
    self.largest = largest
    self.quota = quota
  }
}
