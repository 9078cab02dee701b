/// A storage of the bytes of blobs, by space and by content.
///
/// Only users who may enter a space may have its blobs. Equal content in two spaces is stored twice, so that a space
/// reveals nothing about another. Blobs are named by their SHA-256 in lower-case hexadecimal. Every method may be
/// called from any task. It throws `BlobError`, and `BothyError` or `StorageUnavailable` if the storage fails.
public protocol BlobFileStorage: Sendable {
  /// Returns how much of a blob is stored. This call postpones the sweep of the blob, by a minute less at most.
  ///
  /// It reads no bytes. A missing blob is a part of 0 bytes.
  func holding(of sha256: String, in space: String) async throws -> BlobHolding

  /// Accepts a part if it continues the stored ones, and returns how much is stored then.
  ///
  /// The last part completes the blob if it has the checksum that names it. Otherwise all parts are deleted and
  /// `.checksumMismatch` is thrown. The upload replaces a damaged blob, and a wanted blob is kept from then on. A part
  /// that doesn't continue changes nothing.
  func append(_ part: BlobPart, in space: String) async throws -> BlobHolding

  /// Returns the bytes of a range of a whole blob, fewer at its end. Throws `.notFound` for a blob that is missing or
  /// incomplete.
  ///
  /// The range is in memory. A range beyond the end gives an empty array.
  func read(_ sha256: String, _ range: Range<Int64>, in space: String) async throws -> [UInt8]

  /// Like `holding(of:in:)`, but reads all bytes of a whole blob, unless it did within a minute. A damaged one is
  /// quarantined and counts as missing.
  func verifiedHolding(of sha256: String, in space: String) async throws -> BlobHolding

  /// Remembers that these blobs are missing, so that devices that have them upload them. Beyond `limit` of the space
  /// each replaces the one that is missed for the longest time.
  func want(_ sha256s: Set<String>, in space: String, limit: Int) async throws

  /// Returns at most `limit` of the wanted blobs of a space, different ones each time if more exist.
  func wanted(in space: String, limit: Int) async throws -> [String]

  /// Returns true if whole blobs exist that operations have not named yet, or if the storage can't tell.
  func hasUnnamed(in space: String) async -> Bool

  /// Keeps these blobs, if they are stored, because an operation names them.
  func keep(_ sha256s: Set<String>, in space: String) async throws

  /// Deletes parts and whole blobs in all spaces that operations have not named and that were last requested before
  /// `time` (milliseconds since 1970). Returns their number.
  func sweep(before time: Int64) async throws -> Int

  /// Returns the blobs of a space that operations have named, with their sizes.
  func kept(in space: String) async throws -> [String: Int64]

  /// Returns true if blobs were uploaded or requested since `time` (milliseconds since 1970) that operations have not
  /// named, or if blobs are wanted since then.
  func hasNews(in space: String, since time: Int64) async -> Bool

  /// Deletes the blobs whose grace is over, and notes which are named. The grace of a blob begins with the first
  /// collection that finds it unnamed after it was named or requested. Forgets wanted blobs that are not named.
  func release(_ release: BlobRelease, in space: String) async throws -> BlobRelease.Done

  /// Returns true if `sweep` is due: none was noted as done for `period` milliseconds, and no process took it within
  /// `lease` milliseconds. The caller has taken it then, and calls `noteSweep` after it.
  func takeSweep(at time: Int64, every period: Int64, lease: Int64) async throws -> Bool

  /// Notes that a sweep that was taken at `time` is done. One that isn't noted is due again at the end of its lease.
  func noteSweep(at time: Int64) async throws

  /// Deletes all blobs of a space, also unfinished uploads.
  func remove(space: String) async throws
}
