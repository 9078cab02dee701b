/// The entries of a range of keys, as runs of ids with one key. Reads a growing number of entries at a time.
///
/// Keys come in order or from the last, and ids in order within a key. The entries of one key may be several runs, one
/// after the other.
struct EntryRuns {
  /// The most entries that are read at a time.
  static let most = 512

  private let storage: any ServerSnapshot
  private let isDescending: Bool
  private var range: FieldEntryRange
  private var size = 64
  /// The last entry that was read: of the range, or of one key if keys come from the last.
  private var last: FieldEntry?
  private var ready: [(key: [UInt8], ids: [String])] = []
  private var isDone = false

  /// - Parameter start: the entry after which to begin, for a start within a key.
  init(
    _ range: FieldEntryRange, isDescending: Bool, after start: FieldEntry?, in storage: any ServerSnapshot
  ) {
    self.storage = storage
    self.range = range
    self.isDescending = isDescending
    last = start
  }

  mutating func next() throws -> (key: [UInt8], ids: [String])? {
    while ready.isEmpty && !isDone {
      if !isDescending {
        try readOn()
      } else if let entry = last {
        try readKey(after: entry)
      } else {
        try readBack()
      }
      size = min(size * 2, Self.most)
    }
    return ready.isEmpty ? nil : ready.removeFirst()
  }

  private mutating func readOn() throws {
    let entries = try storage.entries(in: range, after: last, descending: false, limit: size)
    isDone = entries.count < size
    last = entries.last ?? last
    ready = Self.runs(entries)
  }

  /// Reads the entries of one key in the order of their ids.
  private mutating func readKey(after entry: FieldEntry) throws {
    let keys = FieldEntryRange(range.index, KeyRange(of: entry.key))
    let entries = try storage.entries(in: keys, after: entry, descending: false, limit: size)
    if entries.count < size {
      last = nil
      range.upper = entry.key
    } else {
      last = entries.last
    }
    ready = Self.runs(entries)
  }

  /// Reads entries from the last one. Those of the lowest key may be incomplete, and are left for the next reading.
  private mutating func readBack() throws {
    let entries = try storage.entries(in: range, after: nil, descending: true, limit: size)
    var runs = Self.runs(entries).map { (key: $0.key, ids: Array($0.ids.reversed())) }
    isDone = entries.count < size
    if !isDone, let lowest = runs.popLast(), runs.isEmpty {
      last = FieldEntry(index: range.index, key: lowest.key, id: "")
    }
    if let key = runs.last?.key { range.upper = key }
    ready = runs
  }

  private static func runs(_ entries: [FieldEntry]) -> [(key: [UInt8], ids: [String])] {
    var runs: [(key: [UInt8], ids: [String])] = []
    for entry in entries {
      if let last = runs.last, last.key == entry.key {
        runs[runs.count - 1].ids.append(entry.id)
      } else {
        runs.append((entry.key, [entry.id]))
      }
    }
    return runs
  }
}
