/// The memory of one process about the blobs of a folder, which saves reads. It is bounded, and may be empty at any time.
struct BlobMemory: Sendable {
  /// The bytes of all files of a space, by its folder.
  private var used = Memo<String, Int64>(limit: 10_000)
  /// The sizes of blobs whose bytes have the right checksum, by their folder and name.
  private var intact = Memo<String, Int64>(limit: 10_000)

  /// The time for which a process adds up the bytes of a space by itself, in milliseconds.
  static let usedPeriod: Int64 = 10_000
  /// The time for which a process doesn't read an intact blob again, in milliseconds.
  static let intactPeriod: Int64 = 60_000

  /// Returns true if the bytes of a space are known.
  func knowsUse(of folder: String, at time: Int64) -> Bool { used.read(folder, at: time) != nil }

  mutating func setUse(of folder: String, _ bytes: Int64, at time: Int64) {
    used.keep(folder, bytes, at: time, for: Self.usedPeriod)
  }

  mutating func forgetUse(of folder: String) { used[folder] = nil }

  mutating func forgetUses() { used = Memo(limit: 10_000) }

  /// Adds what a part counts as to the bytes of its space. Returns false, and adds nothing, if the quota has no room
  /// for the rest of the blob.
  mutating func take(_ part: Int64, of rest: Int64, in folder: String, quota: Int64) -> Bool {
    let known = used[folder] ?? 0
    guard rest <= quota - known else { return false }
    used[folder] = known + part
    return true
  }

  /// Returns true if the bytes of a blob of this size were compared with its checksum within the last minute.
  func isIntact(_ blob: String, _ size: Int64, at time: Int64) -> Bool { intact.read(blob, at: time) == size }

  mutating func setIntact(_ blob: String, _ size: Int64, at time: Int64) {
    intact.keep(blob, size, at: time, for: Self.intactPeriod)
  }
}
