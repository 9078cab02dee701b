public import BothySyncService
import Foundation
public import Logging
import Synchronization

/// A storage of blobs in a bucket on S3, or on a storage that speaks its protocol, which several processes may share.
///
/// The storage must show an object, in reads and listings, as soon as it was stored. Nothing else is shared by the
/// processes, and no condition of a request is used. A failed request is repeated for 20 seconds. Then the call throws
/// `StorageUnavailable`, which is the status 503 for a device.
///
/// A whole blob is one object that is never changed, a *copy*. Each upload makes a copy of its own. A copy counts as
/// named by an operation unless a mark says that it is fresh, and that mark is there before the copy is. A process that
/// deletes a copy first says so by a mark, and then looks again if the blob was requested or named meanwhile. Other
/// processes look for that mark after they have noted a request. So one of both sees the other, and a blob that a device
/// was told of is never deleted. A process that crashed leaves its mark; the sweep then makes a copy of the copy.
public final class S3BlobStorage: BlobFileStorage {
  let client: S3Client
  let keys: S3Keys
  let assembly: S3Assembly
  let limits: BlobLimits
  let logger: Logger
  let now: @Sendable () -> Int64
  let memory = Mutex(S3Memory())
  /// Uploads of one blob, and checks of it, in this process.
  let uploads = KeyedSemaphore<BlobPlace>()
  /// Blobs that are completed, verified or copied at a time. Each has some pieces in memory.
  let assemblies = AsyncSemaphore(width: 4)

  /// The time for which a request is not noted again, in milliseconds.
  static let requestPrecision: Int64 = 60_000
  /// The time for which a process remembers the missing blobs of a space, in milliseconds.
  static let wantedPeriod: Int64 = 30_000
  /// The time for which a process remembers an upload that it continued, in milliseconds.
  static let uploadPeriod: Int64 = 5000
  /// The time for which a process adds up the bytes of a space by itself, in milliseconds.
  static let usedPeriod: Int64 = 10_000
  /// The time for which a process doesn't read an intact copy again, in milliseconds.
  static let intactPeriod: Int64 = 60_000

  /// Creates the storage. Sends nothing.
  ///
  /// - Parameters:
  ///   - limits: the limits of blobs. Several processes may exceed the quota of a space by what they take in ten seconds.
  ///   - now: the present time, in milliseconds since 1970.
  ///   - send: sends a request once and follows no redirect. Throws without a response.
  public convenience init(
    _ bucket: S3Bucket, limits: BlobLimits = BlobLimits(), logger: Logger,
    now: @escaping @Sendable () -> Int64,
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    self.init(bucket, limits: limits, logger: logger, pieceSize: 8 << 20, now: now, send: send)
  }

  /// - Parameters:
  ///   - pieceSize: the bytes that are read and written at a time.
  ///   - clock: the time of signatures, in milliseconds since 1970.
  ///   - timer: the clock of time limits.
  ///   - sleep: waits between attempts.
  package init(
    _ bucket: S3Bucket, limits: BlobLimits = BlobLimits(), logger: Logger, pieceSize: Int,
    now: @escaping @Sendable () -> Int64,
    clock: @escaping @Sendable () -> Int64 = { Int64(Date().timeIntervalSince1970 * 1000) },
    timer: any Clock<Duration> = ContinuousClock(),
    sleep: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
    send: @escaping @Sendable (OutboundRequest) async throws -> OutboundResponse
  ) {
    self.limits = limits
    self.logger = logger
    self.now = now
    client = S3Client(bucket, logger: logger, clock: clock, timer: timer, sleep: sleep, send: send)
    keys = S3Keys(prefix: bucket.prefix)
    assembly = S3Assembly(client: client, pieceSize: pieceSize)
  }

  /// Signs later requests with another key of the account, such as the next temporary one.
  public func replace(_ credentials: S3Credentials) { client.replace(credentials) }

  /// Lists one key. Throws `S3Bucket.Unusable` if the storage refuses that, and `StorageUnavailable` if it does not
  /// answer within five seconds.
  public func check() async throws {
    guard let reason = try await client.probe() else { return }
    throw S3Bucket.Unusable("The bucket \(client.bucket.name) can't be used: \(reason).")
  }

  func place(_ sha256: String, _ space: String) -> BlobPlace {
    BlobPlace(space: Self.name(of: space), sha256: sha256)
  }

  static func name(of space: String) -> String { S3Signature.hash(Array(space.utf8)) }

  // MARK: state

  public func holding(of sha256: String, in space: String) async throws -> BlobHolding {
    // The memory of an upload isn't asked: another process may have completed it.
    try await lookUp(place(sha256, space))
  }

  public func verifiedHolding(of sha256: String, in space: String) async throws -> BlobHolding {
    let blob = place(sha256, space)
    return try await uploads.withPermit(of: blob) {
      try await putAsideIfDamaged(blob)
      return try await lookUp(blob)
    }
  }

  /// Returns how much of a blob is stored, and notes the request. A blob that is whole and wanted is named from then on.
  func lookUp(_ blob: BlobPlace) async throws -> BlobHolding {
    // Marks are read before copies: a deletion removes them last.
    var marks = try await marks(of: blob)
    if try await noteRequest(blob, marks) { marks = try await self.marks(of: blob) }
    let copies = try await copies(of: blob).filter { !marks.doomed.contains($0.copy) }
    let fresh = marks.fresh
    guard let found = copies.first(where: { !fresh.contains($0.copy) }) ?? copies.first else {
      return .part(Self.received(try await parts(of: blob)).size)
    }
    if !marks.wanted.isEmpty { try await keepWanted(blob, marks) }
    remember(found, blob)
    return .whole(size: found.size)
  }

  /// Notes that a blob was requested, if a sweep or a collection may delete it. Returns true if marks were changed.
  private func noteRequest(_ blob: BlobPlace, _ marks: BlobMarks) async throws -> Bool {
    let now = now()
    var isChanged = !marks.unnamed.isEmpty
    try await client.delete(marks.unnamed.map { keys.mark(blob, .unnamed($0)) })
    if let last = marks.lastUse(at: now), now.subtractingClamped(last) >= Self.requestPrecision {
      try await client.put(keys.mark(blob, .asked(now)), [])
      try await client.delete(marks.asked.filter { $0 != now }.map { keys.mark(blob, .asked($0)) })
      isChanged = true
    }
    return isChanged
  }

  private func keepWanted(_ blob: BlobPlace, _ marks: BlobMarks) async throws {
    try await client.delete(marks.fresh.map { keys.mark(blob, .fresh($0)) })
    try await client.delete(marks.wanted.map { keys.mark(blob, .wanted($0)) })
    memory.withLock { $0.wanted[blob.space]?.removeAll { $0 == blob.sha256 } }
  }

  func marks(of blob: BlobPlace) async throws -> BlobMarks {
    var marks = BlobMarks()
    for object in try await client.objects(keys.marks(blob)) {
      if let found = keys.mark(at: object.key) { marks.all.insert(found.mark) }
    }
    return marks
  }

  func copies(of blob: BlobPlace) async throws -> [S3Memory.Location] {
    try await client.objects(keys.contents(blob)).compactMap { object in
      keys.content(at: object.key).map { S3Memory.Location(copy: $0.copy, size: object.size) }
    }
  }

  func remember(_ found: S3Memory.Location, _ blob: BlobPlace) {
    memory.withLock { $0.locations.keep(blob, found, at: 0, for: .max) }
  }

  // MARK: reading

  public func read(_ sha256: String, _ range: Range<Int64>, in space: String) async throws -> [UInt8] {
    let blob = place(sha256, space)
    // A copy may be deleted between its listing and the read. Another one is there then, or none.
    for isKnown in [true, false, false] {
      var found = isKnown ? memory.withLock { $0.locations[blob] } : nil
      if found == nil { found = try await copies(of: blob).first }
      guard let found else { break }
      let end = min(range.upperBound, found.size)
      guard range.lowerBound < end else { return [] }
      if let bytes = try await client.get(keys.content(blob, found.copy), range.lowerBound..<end) {
        remember(found, blob)
        return bytes
      }
      memory.withLock { $0.forget(blob) }
    }
    throw BlobError(.notFound, "The space has no such blob.")
  }

  // MARK: missing blobs

  public func want(_ sha256s: Set<String>, in space: String, limit: Int) async throws {
    guard !sha256s.isEmpty else { return }
    let (space, now) = (Self.name(of: space), now())
    var known: [String: [Int64]] = [:]
    try await forEachMark(keys.marks(space)) { blob, mark in
      if case .wanted(let time) = mark { known[blob.sha256, default: []].append(time) }
    }
    let whole = sha256s.count > 8 ? Set(try await copies(in: space).keys.map(\.sha256)) : nil
    for name in sha256s.sorted() where known[name] == nil {
      let blob = BlobPlace(space: space, sha256: name)
      let isWhole: Bool
      if let whole { isWhole = whole.contains(name) } else { isWhole = try await !copies(of: blob).isEmpty }
      guard !isWhole else { continue }
      if known.count >= limit {
        guard let oldest = Self.oldest(of: known) else { break }
        let marks = known.removeValue(forKey: oldest) ?? []
        let place = BlobPlace(space: space, sha256: oldest)
        try await client.delete(marks.map { keys.mark(place, .wanted($0)) })
      }
      known[name] = [now]
      try await client.put(keys.mark(blob, .wanted(now)), [])
    }
    let wanted = Array(known.keys)
    memory.withLock { $0.wanted.keep(space, wanted, at: now, for: Self.wantedPeriod) }
  }

  /// Returns the blob that is wanted since the earliest of these times.
  private static func oldest(of wanted: [String: [Int64]]) -> String? {
    wanted.map { ($1.min() ?? 0, $0) }.min { $0 < $1 }?.1
  }

  /// Returns at most `limit` of the wanted blobs. They are 30 seconds old at most, and older while the storage does not
  /// answer, because pulls don't depend on it.
  public func wanted(in space: String, limit: Int) async throws -> [String] {
    let (space, now) = (Self.name(of: space), now())
    let (known, isCurrent) = memory.withLock { memory -> ([String], Bool) in
      if let names = memory.wanted.read(space, at: now) { return (names, true) }
      // Other callers use what was known while this one looks.
      let names = memory.wanted[space] ?? []
      memory.wanted.keep(space, names, at: now, for: Self.wantedPeriod)
      return (names, false)
    }
    var names = known
    if !isCurrent {
      do {
        names = try await listWanted(space)
        let found = names
        memory.withLock { $0.wanted[space] = found }
      } catch is StorageUnavailable { names = known }  // the next look is after the period
    }
    return names.count > limit ? Array(names.shuffled().prefix(limit)) : names
  }

  private func listWanted(_ space: String) async throws -> [String] {
    var found: Set<String> = []
    let timeLimits = S3Client.TimeLimits(attempt: .seconds(2), attempts: 1)
    try await forEachMark(keys.marks(space), timeLimits: timeLimits) {
      if case .wanted = $1 { found.insert($0.sha256) }
    }
    return Array(found)
  }

  // MARK: naming

  /// Also true if a collection found a blob that no record names, so that an operation that names it again keeps it.
  public func hasUnnamed(in space: String) async -> Bool {
    do {
      return try await hasMark(Self.name(of: space)) { mark in
        switch mark {
        case .fresh, .unnamed: true
        case .asked, .wanted, .doomed: false
        }
      }
    } catch { return true }  // `keep` then throws
  }

  public func hasNews(in space: String, since time: Int64) async -> Bool {
    do {
      return try await hasMark(Self.name(of: space)) { mark in
        switch mark {
        case .fresh(let copy): copy.time >= time
        case .asked(let at), .wanted(let at): at >= time
        case .unnamed, .doomed: false
        }
      }
    } catch { return true }  // the next look at the space tries again
  }

  private func hasMark(_ space: String, _ condition: (BlobMark) -> Bool) async throws -> Bool {
    var found = false
    try await client.list(keys.marks(space)) { object in
      found = keys.mark(at: object.key).map { condition($0.mark) } ?? false
      return !found
    }
    return found
  }

  public func keep(_ sha256s: Set<String>, in space: String) async throws {
    let space = Self.name(of: space)
    var named: [String] = []
    func add(_ blob: BlobPlace, _ mark: BlobMark) {
      switch mark {
      case .fresh, .unnamed: if sha256s.contains(blob.sha256) { named.append(keys.mark(blob, mark)) }
      case .asked, .wanted, .doomed: break
      }
    }
    if sha256s.count > 3 {
      try await forEachMark(keys.marks(space), add)
    } else {
      for name in sha256s {
        try await forEachMark(keys.marks(BlobPlace(space: space, sha256: name)), add)
      }
    }
    try await client.delete(named)
  }

  /// Calls `body` with the marks whose keys begin with `prefix`, those of a blob one after the other.
  func forEachMark(
    _ prefix: String, timeLimits: S3Client.TimeLimits = S3Client.TimeLimits(),
    _ body: (BlobPlace, BlobMark) async throws -> Void
  ) async throws {
    try await client.list(prefix, timeLimits: timeLimits) { object in
      if let found = keys.mark(at: object.key) { try await body(found.blob, found.mark) }
      return true
    }
  }

  /// Returns all copies in a space, by blob and oldest first.
  func copies(in space: String) async throws -> [BlobPlace: [S3Memory.Location]] {
    var found: [BlobPlace: [S3Memory.Location]] = [:]
    try await client.list(keys.contents(space)) { object in
      if let (name, copy) = keys.content(at: object.key) {
        let location = S3Memory.Location(copy: copy, size: object.size)
        found[BlobPlace(space: space, sha256: name), default: []].append(location)
      }
      return true
    }
    return found
  }
}
