/// The memory of one process about a bucket, which saves requests. It is bounded, and may be empty at any time.
struct S3Memory: Sendable {
  /// A copy of a blob, and its size.
  struct Location: Sendable, Hashable {
    var copy: BlobCopy
    var size: Int64
  }

  /// The copies that were found. They never change, and may be deleted by any process.
  var locations = Memo<BlobPlace, Location>(limit: 10_000)
  /// The bytes of uploads that this process has continued.
  var uploads = Memo<BlobPlace, Int64>(limit: 1000)
  /// The missing blobs, by the SHA-256 of the space's name.
  var wanted = Memo<String, [String]>(limit: 10_000)
  /// The bytes of all blobs, by the SHA-256 of the space's name.
  var used = Memo<String, Int64>(limit: 10_000)

  /// Forgets the place of a blob, and the size of its space.
  mutating func forget(_ blob: BlobPlace) {
    locations[blob] = nil
    uploads[blob] = nil
    used[blob.space] = nil
  }
}

/// Values with a time at which they end. Forgets all of them when it is full.
struct Memo<Key: Hashable & Sendable, Value: Sendable>: Sendable {
  private var values: [Key: (value: Value, from: Int64, until: Int64)] = [:]
  private let limit: Int

  init(limit: Int) { self.limit = limit }

  /// Returns a value before its end. It ends too when the clock was set back.
  func read(_ key: Key, at now: Int64) -> Value? {
    guard let entry = values[key], entry.from <= now, now < entry.until else { return nil }
    return entry.value
  }

  mutating func keep(_ key: Key, _ value: Value, at now: Int64, for time: Int64) {
    if values.count >= limit, values[key] == nil { values.removeAll() }
    values[key] = (value, now, now.addingClamped(time))
  }

  /// The value without regard to its end. Setting it keeps the end. A value that isn't remembered can't be set.
  subscript(_ key: Key) -> Value? {
    get { values[key]?.value }
    set {
      guard let newValue else { return values[key] = nil }
      values[key]?.value = newValue
    }
  }
}
