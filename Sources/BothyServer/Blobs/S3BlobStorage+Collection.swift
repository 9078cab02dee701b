public import BothySyncService
import Logging
import Synchronization

/// The deletion of blobs.
extension S3BlobStorage {
  public func kept(in space: String) async throws -> [String: Int64] {
    let space = Self.name(of: space)
    // Copies are listed first: one that comes meanwhile may be fresh.
    let copies = try await copies(in: space)
    let fresh = try await marks(in: space).mapValues(\.fresh)
    var kept: [String: Int64] = [:]
    for (blob, copies) in copies {
      let found = copies.first { fresh[blob]?.contains($0.copy) != true }
      if let found { kept[blob.sha256] = found.size }
    }
    return kept
  }

  private func marks(in space: String) async throws -> [BlobPlace: BlobMarks] {
    var found: [BlobPlace: BlobMarks] = [:]
    try await forEachMark(keys.marks(space)) { found[$0, default: BlobMarks()].all.insert($1) }
    return found
  }

  // MARK: collections

  public func release(_ release: BlobRelease, in space: String) async throws -> BlobRelease.Done {
    let space = Self.name(of: space)
    let copies = try await copies(in: space)
    let marks = try await marks(in: space)
    var done = BlobRelease.Done()
    for name in release.blobs.keys {
      let blob = BlobPlace(space: space, sha256: name)
      let marks = marks[blob] ?? BlobMarks()
      let kept = (copies[blob] ?? []).map(\.copy).filter { !marks.fresh.contains($0) }
      guard !kept.isEmpty, !release.named.contains(name) else { continue }
      let unnamed = marks.unnamed.filter { BlobMarks.isPlausible($0, at: release.time) }
      // Marks of a clock that was far ahead would keep the blob until then.
      let wrong = marks.unnamed.filter { !unnamed.contains($0) }
      try await client.delete(wrong.map { keys.mark(blob, .unnamed($0)) })
      guard let began = unnamed.max() else {
        try await client.put(keys.mark(blob, .unnamed(release.time)), [])
        done.next = min(done.next ?? .max, release.time.addingClamped(release.grace + 1))
        continue
      }
      guard began < release.time - release.grace else {
        done.next = min(done.next ?? .max, began.addingClamped(release.grace + 1))
        continue
      }
      // A copy that came later is a request, like one that comes meanwhile.
      let isOld = kept.allSatisfy {
        $0.time <= began || !BlobMarks.isPlausible($0.time, at: release.time)
      }
      if isOld, try await delete(kept, of: blob, while: { $0.unnamed.max() == began }) {
        done.removed += 1
      } else {
        try await client.delete(marks.unnamed.map { keys.mark(blob, .unnamed($0)) })
        done.next = min(done.next ?? .max, release.time.addingClamped(1))
      }
    }
    try await forget(marks, copies, release)
    memory.withLock { $0.wanted[space] = nil }
    return done
  }

  /// Deletes the marks that a collection has made wrong: of missing blobs, and of blobs that records name.
  private func forget(
    _ marks: [BlobPlace: BlobMarks], _ copies: [BlobPlace: [S3Memory.Location]], _ release: BlobRelease
  ) async throws {
    var wrong: [String] = []
    for (blob, marks) in marks {
      let isNamed = release.named.contains(blob.sha256)
      if isNamed || copies[blob] == nil { wrong += marks.unnamed.map { keys.mark(blob, .unnamed($0)) } }
      if !isNamed { wrong += marks.wanted.map { keys.mark(blob, .wanted($0)) } }
    }
    try await client.delete(wrong)
  }

  /// Deletes copies of a blob, unless it is requested or named meanwhile. Returns true if they are deleted.
  ///
  /// - Parameter condition: true of the marks by which nothing needs the copies.
  private func delete(
    _ copies: some Collection<BlobCopy>, of blob: BlobPlace, while condition: (BlobMarks) -> Bool
  ) async throws -> Bool {
    let process = BlobCopy(at: now())
    let own = copies.map { keys.mark(blob, .doomed($0, by: process)) }
    for key in own { try await client.put(key, []) }
    let marks = try await marks(of: blob)
    guard condition(marks) else {
      // This process deletes nothing now, so the copies live on.
      try await client.delete(own)
      return false
    }
    try await client.delete(copies.map { keys.content(blob, $0) })
    memory.withLock { $0.forget(blob) }
    try await client.delete(marks.of(copies).map { keys.mark(blob, $0) })
    return true
  }

  // MARK: sweeps

  /// The object's name has the time of the last sweep. While one is taken, the period after it ends with the lease.
  public func takeSweep(at time: Int64, every period: Int64, lease: Int64) async throws -> Bool {
    let last = try await notedSweeps()
    var hasObjects = false
    try await client.list(keys.prefix, limit: 1) { _ in
      hasObjects = true
      return false
    }
    guard hasObjects, !last.contains(where: { $0.time <= time && time - $0.time < period }) else {
      return false
    }
    // Two processes at the same moment both sweep, which does no harm.
    try await client.put(keys.sweep(BlobCopy(at: time - period + min(lease, period))), [])
    try await client.delete(last.map(\.key))
    return true
  }

  public func noteSweep(at time: Int64) async throws {
    let last = try await notedSweeps()
    try await client.put(keys.sweep(BlobCopy(at: time)), [])
    try await client.delete(last.map(\.key))
  }

  private func notedSweeps() async throws -> [(key: String, time: Int64)] {
    var found: [(key: String, time: Int64)] = []
    try await client.list(keys.sweeps) { object in
      found.append((object.key, BlobCopy(object.key.dropFirst(keys.sweeps.count))?.time ?? .max))
      return true
    }
    return found
  }

  /// Deletes old uploads that no operation named, and parts. Costs a listing of all marks and parts, and a few requests
  /// for each deleted blob.
  public func sweep(before time: Int64) async throws -> Int {
    var removed = 0
    var current: (blob: BlobPlace, marks: BlobMarks)?
    try await forEachMark(keys.marks) { blob, mark in
      if let found = current, found.blob != blob {
        removed += try await sweep(found.blob, found.marks, before: time)
        current = nil
      }
      current = (blob, current?.marks ?? BlobMarks())
      current?.marks.all.insert(mark)
    }
    if let current { removed += try await sweep(current.blob, current.marks, before: time) }
    removed += try await sweepParts(before: time)
    do {
      for upload in try await client.openUploads(keys.prefix) where upload.begun < time {
        try await client.abortUpload(upload.key, upload.id)
      }
    } catch is StorageUnavailable {
      logger.info("begun uploads could not be listed and aborted; a rule of the bucket can do that")
    }
    memory.withLock { $0 = S3Memory() }
    return removed
  }

  private func sweep(_ blob: BlobPlace, _ marks: BlobMarks, before time: Int64) async throws -> Int {
    if !marks.doomed.isEmpty { try await rescue(blob, marks, before: time) }
    let now = now()
    guard let last = marks.lastUse(at: now) else {
      // Requests matter only for copies that nothing named.
      let old = marks.asked.filter { $0 < time || !BlobMarks.isPlausible($0, at: now) }
      try await client.delete(old.map { keys.mark(blob, .asked($0)) })
      return 0
    }
    guard last > .min else {
      // Nobody knows when it was used, so its time begins now.
      try await client.put(keys.mark(blob, .asked(now)), [])
      return 0
    }
    guard last < time else { return 0 }
    let copies = try await copies(of: blob).map(\.copy).filter { marks.fresh.contains($0) }
    guard !copies.isEmpty else {
      try await client.delete(marks.of(marks.fresh).map { keys.mark(blob, $0) })
      return 0
    }
    let isDeleted = try await delete(copies, of: blob) { current in
      copies.allSatisfy { current.fresh.contains($0) } && (current.lastUse(at: now) ?? .max) < time
    }
    return isDeleted ? 1 : 0
  }

  /// Makes new copies of those whose deletion a process began and didn't end, an hour ago at least, if they are needed.
  /// The old ones are deleted, because that process may go on at any time.
  private func rescue(_ blob: BlobPlace, _ marks: BlobMarks, before time: Int64) async throws {
    let stored = try await copies(of: blob)
    for doomed in marks.doomed where marks.isAbandoned(doomed, at: now()) {
      let isFresh = marks.fresh.contains(doomed)
      if let found = stored.first(where: { $0.copy == doomed }) {
        // A sweep or a collection deletes what nothing needs.
        if isFresh ? (marks.lastUse(at: now()) ?? .max) < time : !marks.unnamed.isEmpty { continue }
        // The new copy has no mark, as an operation may name the blob at any time. The next collection finds out.
        let copy = BlobCopy(at: now())
        let object = S3Object(key: keys.content(blob, doomed), size: found.size, modified: 0)
        let end = try await assemblies.withPermit {
          try await assembly.store(
            keys.content(blob, copy), size: found.size, from: [object], sha256: blob.sha256)
        }
        guard end == .stored else {
          if end == .mismatch { try await putAsideIfDamaged(blob) }
          continue
        }
        try await client.delete(object.key)
        memory.withLock { $0.forget(blob) }
      }
      let old = marks.all.filter { $0.copy == doomed }
      try await client.delete(old.map { keys.mark(blob, $0) })
    }
  }

  /// Deletes uploads that no part has continued since a time.
  private func sweepParts(before time: Int64) async throws -> Int {
    var removed = 0
    try await forEachUpload(keys.parts) { parts in
      guard parts.allSatisfy({ $0.modified < time }) else { return }
      try await client.delete(parts.map(\.key))
      removed += 1
    }
    return removed
  }

  /// Calls `body` with the parts of each upload whose keys begin with `prefix`.
  func forEachUpload(_ prefix: String, _ body: ([S3Object]) async throws -> Void) async throws {
    var (current, folder): ([S3Object], Substring) = ([], "")
    try await client.list(prefix) { object in
      let place = object.key[..<(object.key.lastIndex(of: "/") ?? object.key.endIndex)]
      if place != folder {
        if !current.isEmpty { try await body(current) }
        (current, folder) = ([], place)
      }
      current.append(object)
      return true
    }
    if !current.isEmpty { try await body(current) }
  }

  public func remove(space: String) async throws {
    let space = Self.name(of: space)
    for prefix in [
      keys.contents(space), keys.parts(space), keys.damaged(space), keys.marks(space),
    ] {
      // Listed again until it is empty, so that few keys are in memory.
      while true {
        var found: [String] = []
        try await client.list(prefix) {
          found.append($0.key)
          return found.count < 1000
        }
        guard !found.isEmpty else { break }
        try await client.delete(found)
      }
    }
    memory.withLock { $0 = S3Memory() }
  }
}

extension BlobMark {
  /// The copy that the mark is about, or `nil` for a mark of the blob.
  fileprivate var copy: BlobCopy? {
    switch self {
    case .fresh(let copy), .doomed(let copy, _): copy
    case .asked, .unnamed, .wanted: nil
    }
  }
}

extension BlobMarks {
  /// The marks that end with some copies. Requests end with the last fresh copy.
  fileprivate func of(_ copies: some Collection<BlobCopy>) -> [BlobMark] {
    let isLast = fresh.allSatisfy { copies.contains($0) }
    return all.filter { mark in
      switch mark {
      case .fresh(let copy), .doomed(let copy, _): copies.contains(copy)
      case .asked: isLast
      case .unnamed: true
      case .wanted: false
      }
    }
  }

  /// True if the last process that deletes a copy began an hour ago, or at a time far ahead.
  fileprivate func isAbandoned(_ copy: BlobCopy, at now: Int64) -> Bool {
    all.allSatisfy { mark in
      guard case .doomed(copy, let process) = mark else { return true }
      return process.time < now - 3_600_000 || !Self.isPlausible(process.time, at: now)
    }
  }
}
