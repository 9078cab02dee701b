import BothyStore
import BothySyncService

/// One stored copy of a blob. Every upload makes a new one, so a late deletion of an old copy never hits a newer one.
///
/// Its text is the time of the upload with 15 digits, a hyphen, and 16 random hexadecimal digits.
struct BlobCopy: Sendable, Hashable, Comparable {
  /// The milliseconds since 1970.
  let time: Int64
  private let nonce: String

  /// Makes a copy that no other process makes.
  init(at time: Int64) {
    self.time = max(0, time)
    nonce = UInt64.random(in: 0 ... .max).hexadecimal
  }

  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: "-", omittingEmptySubsequences: false)
    guard parts.count == 2, let time = S3Keys.time(parts[0]), parts[1].utf8.count == 16 else { return nil }
    self.time = time
    nonce = String(parts[1])
  }

  var text: String { "\(UInt64(time).padded(to: 15))-\(nonce)" }

  static func < (left: BlobCopy, right: BlobCopy) -> Bool { left.text < right.text }
}

/// A blob of a space, which is known by the SHA-256 of its name.
struct BlobPlace: Sendable, Hashable {
  let space: String
  let sha256: String
}

/// A zero-byte object about a blob, which says all by its name.
enum BlobMark: Sendable, Hashable {
  /// No operation has named this copy yet.
  case fresh(BlobCopy)
  /// The blob was requested at a time.
  case asked(Int64)
  /// A collection found at a time that no record names the blob.
  case unnamed(Int64)
  /// Records name the blob, and it is missing since a time.
  case wanted(Int64)
  /// A process deletes this copy. The second value is its own, with the time.
  case doomed(BlobCopy, by: BlobCopy)

  var text: String {
    switch self {
    case .fresh(let copy): "fresh.\(copy.text)"
    case .asked(let time): "asked.\(UInt64(clamping: time).padded(to: 15))"
    case .unnamed(let time): "unnamed.\(UInt64(clamping: time).padded(to: 15))"
    case .wanted(let time): "wanted.\(UInt64(clamping: time).padded(to: 15))"
    case .doomed(let copy, let process): "doomed.\(copy.text).\(process.text)"
    }
  }

  init?(_ text: some StringProtocol) {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count >= 2 else { return nil }
    let (time, copy) = (S3Keys.time(parts[1]), BlobCopy(parts[1]))
    switch (parts[0], parts.count) {
    case ("fresh", 2): if let copy { self = .fresh(copy) } else { return nil }
    case ("asked", 2): if let time { self = .asked(time) } else { return nil }
    case ("unnamed", 2): if let time { self = .unnamed(time) } else { return nil }
    case ("wanted", 2): if let time { self = .wanted(time) } else { return nil }
    case ("doomed", 3):
      guard let copy, let process = BlobCopy(parts[2]) else { return nil }
      self = .doomed(copy, by: process)
    default: return nil
    }
  }
}

/// All marks of a blob.
struct BlobMarks: Sendable, Hashable {
  var all: Set<BlobMark> = []

  /// The copies that no operation has named.
  var fresh: Set<BlobCopy> { Set(all.compactMap { if case .fresh(let copy) = $0 { copy } else { nil } }) }
  /// The times at which the blob was requested.
  var asked: [Int64] { all.compactMap { if case .asked(let time) = $0 { time } else { nil } } }
  /// The times of collections that found no record.
  var unnamed: [Int64] { all.compactMap { if case .unnamed(let time) = $0 { time } else { nil } } }
  var wanted: [Int64] { all.compactMap { if case .wanted(let time) = $0 { time } else { nil } } }
  /// The copies that processes delete, or began to delete.
  var doomed: Set<BlobCopy> {
    Set(all.compactMap { if case .doomed(let copy, _) = $0 { copy } else { nil } })
  }

  /// Returns the time of the last upload that no operation has named, or of a later request; `nil` without such an
  /// upload. It is `.min` if only a clock that was far ahead noted one.
  func lastUse(at now: Int64) -> Int64? {
    let times = (fresh.map(\.time) + asked).filter { Self.isPlausible($0, at: now) }
    return fresh.isEmpty ? nil : times.max() ?? Int64.min
  }

  /// False for a time that a clock noted that was far ahead.
  static func isPlausible(_ time: Int64, at now: Int64) -> Bool {
    time <= now.addingClamped(RetentionPolicy.day)
  }
}

/// The keys of all objects of a server in a bucket.
///
///     content/<space>/<sha256>/<copy>              a whole copy of a blob, verified; never changed
///     marks/<space>/<sha256>.<mark>                zero bytes
///     parts/<space>/<sha256>/<20-digit offset>     what is being uploaded
///     damaged/<space>/<sha256>.<copy>              had another checksum, to be looked at
///     swept/<time and process>                     the last sweep
struct S3Keys: Sendable {
  let prefix: String

  func contents(_ space: String) -> String { "\(prefix)content/\(space)/" }
  func contents(_ blob: BlobPlace) -> String { "\(contents(blob.space))\(blob.sha256)/" }
  func content(_ blob: BlobPlace, _ copy: BlobCopy) -> String { contents(blob) + copy.text }
  var marks: String { "\(prefix)marks/" }
  func marks(_ space: String) -> String { "\(marks)\(space)/" }
  func marks(_ blob: BlobPlace) -> String { "\(marks(blob.space))\(blob.sha256)." }
  func mark(_ blob: BlobPlace, _ mark: BlobMark) -> String { marks(blob) + mark.text }
  var parts: String { "\(prefix)parts/" }
  func parts(_ space: String) -> String { "\(parts)\(space)/" }
  func parts(_ blob: BlobPlace) -> String { "\(parts(blob.space))\(blob.sha256)/" }
  func part(_ blob: BlobPlace, _ offset: Int64) -> String {
    parts(blob) + UInt64(clamping: offset).padded(to: 20)
  }
  func damaged(_ space: String) -> String { "\(prefix)damaged/\(space)/" }
  func damaged(_ blob: BlobPlace, _ copy: BlobCopy) -> String {
    "\(damaged(blob.space))\(blob.sha256).\(copy.text)"
  }
  var sweeps: String { "\(prefix)swept/" }
  func sweep(_ process: BlobCopy) -> String { sweeps + process.text }

  /// Returns the mark that a key is, and its blob.
  func mark(at key: String) -> (blob: BlobPlace, mark: BlobMark)? {
    let parts = key.dropFirst(marks.count).split(separator: "/", omittingEmptySubsequences: false)
    guard key.hasPrefix(marks), parts.count == 2, let dot = parts[1].firstIndex(of: "."),
      let mark = BlobMark(parts[1][parts[1].index(after: dot)...])
    else { return nil }
    return (BlobPlace(space: String(parts[0]), sha256: String(parts[1][..<dot])), mark)
  }

  /// Returns the copy that a key has, and the blob's name.
  func content(at key: String) -> (sha256: String, copy: BlobCopy)? {
    let parts = key.dropFirst(prefix.count).split(separator: "/", omittingEmptySubsequences: false)
    guard parts.count == 4, parts[0] == "content", let copy = BlobCopy(parts[3]) else { return nil }
    return (String(parts[2]), copy)
  }

  /// Returns the offset of a part.
  func offset(at key: String) -> Int64? {
    key.split(separator: "/").last.flatMap { Int64($0) }
  }

  static func time(_ text: some StringProtocol) -> Int64? {
    guard text.utf8.count >= 15, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
    return Int64(text)
  }
}
