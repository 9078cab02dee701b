public import BothySyncService
import Logging
import Synchronization

/// Uploads in parts, and damaged blobs.
extension S3BlobStorage {
  /// Accepts a part. Costs one request if this process took the part before it, within five seconds. The last part
  /// costs one for each part, three listings and two more requests.
  public func append(_ part: BlobPart, in space: String) async throws -> BlobHolding {
    let blob = place(part.sha256, space)
    return try await uploads.withPermit(of: blob) { try await take(part, blob) }
  }

  private func take(_ part: BlobPart, _ blob: BlobPlace) async throws -> BlobHolding {
    let (end, time) = (part.offset + Int64(part.bytes.count), now())
    let isLast = end == part.size
    if !isLast, part.size <= limits.largest,
      memory.withLock({ $0.uploads.read(blob, at: time) }) == part.offset
    {
      try await checkQuota(blob, of: part.size, after: part.offset)
      return try await put(part, blob)
    }
    let marks = try await marks(of: blob)
    if try await !copies(of: blob).isEmpty {
      // The right bytes replace a damaged blob.
      try await putAsideIfDamaged(blob)
      if case .whole(let size) = try await lookUp(blob) { return .whole(size: size) }
    }
    guard part.size <= limits.largest else {
      throw BlobError(.tooLarge, "The blob has \(part.size) bytes; this server takes \(limits.largest).")
    }
    let stored = try await parts(of: blob)
    let (parts, received) = Self.received(stored)
    guard part.offset == received, received <= part.size else {
      if received > part.size { try await discard(stored, blob) }
      return .part(received > part.size ? 0 : received)
    }
    try await checkQuota(blob, of: part.size, after: received)
    guard isLast else { return try await put(part, blob) }
    return try await assemblies.withPermit { try await complete(part, blob, marks, parts, stored) }
  }

  private func put(_ part: BlobPart, _ blob: BlobPlace) async throws -> BlobHolding {
    let (end, time) = (part.offset + Int64(part.bytes.count), now())
    // A part without bytes has no place of its own.
    if end > part.offset { try await client.put(keys.part(blob, part.offset), part.bytes) }
    memory.withLock { memory in
      memory.uploads.keep(blob, end, at: time, for: Self.uploadPeriod)
      if let used = memory.used[blob.space] {
        memory.used[blob.space] = used + limits.charge(end - part.offset)
      }
    }
    return .part(end)
  }

  /// Makes a copy of the parts and of the bytes of the last part, which isn't stored by itself.
  ///
  /// A crash leaves a mark without a copy, a copy with its parts, or parts. The sweep removes these parts and marks.
  private func complete(
    _ part: BlobPart, _ blob: BlobPlace, _ marks: BlobMarks, _ parts: [S3Object], _ stored: [S3Object]
  ) async throws -> BlobHolding {
    let copy = BlobCopy(at: now())
    let end = try await assembly.store(
      keys.content(blob, copy), size: part.size, from: parts, part.bytes, sha256: part.sha256
    ) {
      guard marks.wanted.isEmpty else { return }
      try await client.put(keys.mark(blob, .fresh(copy)), [])
    }
    memory.withLock { $0.forget(blob) }
    switch end {
    case .changed: return .part(Self.received(try await self.parts(of: blob)).size)
    case .mismatch:
      try await discard(stored, blob)
      throw BlobError(
        .checksumMismatch, "The bytes of the blob do not have the checksum that names it. Send it again.")
    case .stored: break
    }
    try await client.delete(marks.unnamed.map { keys.mark(blob, .unnamed($0)) })
    if !marks.wanted.isEmpty {
      try await client.delete(marks.wanted.map { keys.mark(blob, .wanted($0)) })
      memory.withLock { $0.wanted[blob.space]?.removeAll { $0 == blob.sha256 } }
    }
    try await client.delete(stored.map(\.key))
    remember(S3Memory.Location(copy: copy, size: part.size), blob)
    return .whole(size: part.size)
  }

  func parts(of blob: BlobPlace) async throws -> [S3Object] { try await client.objects(keys.parts(blob)) }

  private func discard(_ parts: [S3Object], _ blob: BlobPlace) async throws {
    memory.withLock { $0.forget(blob) }
    try await client.delete(parts.map(\.key))
  }

  /// Returns the parts that follow each other from the first byte on, and their size. Two uploads at once may leave
  /// others, which the completion deletes.
  static func received(_ parts: [S3Object]) -> (parts: [S3Object], size: Int64) {
    var (found, size): ([S3Object], Int64) = ([], 0)
    for part in parts where part.size > 0 && part.key.hasSuffix(UInt64(clamping: size).padded(to: 20)) {
      found.append(part)
      size = size.addingClamped(part.size)
    }
    return (found, size)
  }

  /// Throws if the space has no room for the rest of a blob. Uploads without a new part for an hour make room.
  private func checkQuota(_ blob: BlobPlace, of size: Int64, after received: Int64) async throws {
    guard let quota = limits.quota else { return }
    let bytes = limits.charge(size) - limits.charge(received)
    var room = quota - (try await used(in: blob.space))
    if bytes > room, try await makeRoom(of: bytes - room, besides: blob) {
      room = quota - (try await used(in: blob.space))
    }
    guard bytes <= room else {
      throw BlobError(
        .quotaExceeded, "The space has no room for \(bytes) bytes more: its blobs may have \(quota) bytes.")
    }
  }

  /// Adds up what the objects of a space count as by listings at most every ten seconds, and by itself between.
  private func used(in space: String) async throws -> Int64 {
    let time = now()
    if let used = memory.withLock({ $0.used.read(space, at: time) }) { return used }
    var sum: Int64 = 0
    for prefix in [keys.contents(space), keys.parts(space)] {
      try await client.list(prefix) {
        sum = sum.addingClamped(limits.charge($0.size))
        return true
      }
    }
    let found = sum
    memory.withLock { $0.used.keep(space, found, at: time, for: Self.usedPeriod) }
    return found
  }

  /// Deletes the uploads of other blobs without a new part for an hour, if they have as many bytes. Returns true
  /// if they were deleted.
  private func makeRoom(of bytes: Int64, besides blob: BlobPlace) async throws -> Bool {
    let time = now() - BlobLimits.idleUpload
    var (idle, size): ([String], Int64) = ([], 0)
    try await forEachUpload(keys.parts(blob.space)) { parts in
      guard parts.allSatisfy({ $0.modified < time && !$0.key.hasPrefix(keys.parts(blob)) }) else { return }
      idle += parts.map(\.key)
      size = parts.reduce(size) { $0.addingClamped(limits.charge($1.size)) }
    }
    guard !idle.isEmpty, bytes <= size else { return false }
    try await client.delete(idle)
    memory.withLock { $0.used[blob.space] = nil }
    return true
  }

  // MARK: damaged blobs

  /// Moves each copy of a blob whose bytes have another checksum. Reads all copies, an intact one once a minute at most
  /// and a damaged one twice. A crash leaves the damaged copy in both places.
  func putAsideIfDamaged(_ blob: BlobPlace) async throws {
    for found in try await copies(of: blob) {
      try await assemblies.withPermit { try await putAsideIfDamaged(blob, found) }
    }
  }

  private func putAsideIfDamaged(_ blob: BlobPlace, _ found: S3Memory.Location) async throws {
    let object = S3Object(key: keys.content(blob, found.copy), size: found.size, modified: 0)
    let time = now()
    guard memory.withLock({ $0.intact.read(object.key, at: time) }) != found.size else { return }
    for _ in 0..<2 {
      // A copy that is gone meanwhile isn't damaged.
      guard let digest = try await assembly.digest(of: object) else { return }
      guard digest != blob.sha256 else {
        return memory.withLock {
          $0.intact.keep(object.key, found.size, at: time, for: Self.intactPeriod)
        }
      }
    }
    logger.error(
      "a damaged blob was quarantined", metadata: ["key": "\(LogText.safe(blob.sha256))"])
    let end = try await assembly.store(
      keys.damaged(blob, found.copy), size: found.size, from: [object], sha256: nil)
    memory.withLock { $0.forget(blob) }
    if end == .stored { try await client.delete(object.key) }
  }
}
