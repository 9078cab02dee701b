import BothyCache
import BothyStore
import Foundation

/// The distinct contents of an archive that is being written. They are in a file, found by hash and compared byte by
/// byte.
///
/// A value type with a file behind it. Use only the last copy.
struct PMTilesContents {
  private let path: String
  private let file: FileHandle
  private var places: [(offset: UInt64, length: UInt64)] = []
  private var numbers: [UInt64: [Int]] = [:]
  private var recent = RecentContents<Int>()
  /// The bytes that aren't written yet. They follow `written` bytes of the file.
  private var waiting = Data()
  private var written: UInt64 = 0

  private static let bufferSize = 1 << 20

  init(path: String) throws(BothyError) {
    self.path = path
    do { file = try Self.make(path) } catch { throw Self.failure(error, path) }
  }

  var count: Int { places.count }

  func length(_ number: Int) -> UInt64 { places[number].length }

  /// Returns the number of a content: that of equal bytes, or a new one.
  mutating func add(_ data: Data) throws(BothyError) -> Int {
    let hash = data.withUnsafeBytes { XXH64.hash($0) }
    do {
      for known in numbers[hash] ?? [] where try (recent[known] ?? content(known)) == data {
        recent.keep(data, of: known)
        return known
      }
      places.append((written + UInt64(waiting.count), UInt64(data.count)))
      numbers[hash, default: []].append(places.count - 1)
      waiting.append(data)
      if waiting.count >= Self.bufferSize { try flush() }
    } catch { throw Self.failure(error, path) }
    return places.count - 1
  }

  /// Copies contents in an order into another file. Adjacent contents are copied at once.
  func copy(_ order: [Int], to target: FileHandle) throws {
    var part: (offset: UInt64, length: UInt64) = (0, 0)
    func copyPart() throws {
      if part.length > 0 { try target.write(contentsOf: bytes(part)) }
    }
    for number in order {
      let place = places[number]
      if place.offset == part.offset + part.length, part.length + place.length <= UInt64(Self.bufferSize) {
        part.length += place.length
      } else {
        try copyPart()
        part = place
      }
    }
    try copyPart()
  }

  func remove() throws {
    try file.close()
    try FileManager.default.removeItem(atPath: path)
  }

  /// Creates a new file and replaces an existing one.
  func output(_ path: String) throws -> FileHandle { try Self.make(path) }

  private static func make(_ path: String) throws -> FileHandle {
    guard FileManager.default.createFile(atPath: path, contents: nil) else {
      throw BothyError(
        .unavailable, "\(path) can't be made. Check that its folder is there and may be written.")
    }
    return try FileHandle(forUpdating: URL(fileURLWithPath: path))
  }

  private mutating func flush() throws {
    try file.seek(toOffset: written)
    try file.write(contentsOf: waiting)
    written += UInt64(waiting.count)
    waiting.removeAll(keepingCapacity: true)
  }

  private func content(_ number: Int) throws -> Data { try bytes(places[number]) }

  private func bytes(_ place: (offset: UInt64, length: UInt64)) throws -> Data {
    let end = place.offset + place.length
    var data = Data()
    if place.offset < written {
      try file.seek(toOffset: place.offset)
      let length = Int(min(end, written) - place.offset)
      data = try file.read(upToCount: length) ?? Data()
      guard data.count == length else {
        throw BothyError(.unavailable, "\(path) was changed while an archive was made of it. Make it again.")
      }
    }
    if end > written {
      let start = max(place.offset, written) - written
      data.append(waiting.dropFirst(Int(start)).prefix(Int(end - written - start)))
    }
    return data
  }

  static func failure(_ error: any Error, _ path: String) -> BothyError {
    (error as? BothyError).flatMap { $0.isOfMaps ? $0 : nil }
      ?? BothyError(
        .unavailable,
        "\(path) can't be written: \(BothyError.cause(error)). Check its folder, and that the disk has room.",
        underlying: error)
  }
}
