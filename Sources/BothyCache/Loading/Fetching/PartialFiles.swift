internal import BothyStore
internal import Crypto
package import Foundation
internal import HTTPTypes

/// Stores the beginnings of large bodies on disk during the download, so that even a killed process can resume them.
///
/// Each is one file of frames, and each frame has its length and checksum. The first frame describes the resource, and
/// the others are its bytes. A read returns the longest run of whole frames, so a file torn by a crash or a power loss
/// is only shorter. Files that are not resumed are deleted after a day.
package struct PartialFiles: Sendable {
  private let directory: URL
  /// The size in bytes from which bodies are stored. Smaller ones are downloaded again.
  let threshold: Int
  private let lifetime: TimeInterval = 24 * 3600

  package init(_ directory: URL, threshold: Int = 1 << 20) {
    self.directory = directory
    self.threshold = threshold
  }

  private struct Head: Codable {
    /// A hash of the address. The address itself may contain secrets, which must not be in a file.
    var resource: String
    var validator: String
    var total: Int64?
    var fields: [[String]]
  }

  private func file(_ url: String) -> URL {
    directory.appending(path: Self.name(url) + ".part")
  }

  private static func name(_ url: String) -> String {
    SHA256.hash(data: Data(url.utf8)).hexadecimal
  }

  /// Returns the stored beginning of the body at an address, or `nil` if it can't be continued.
  package func read(_ url: String) -> PartialBody? {
    // An unreadable file counts as missing. The whole body is then fetched.
    let file = file(url)
    guard FileManager.default.fileExists(atPath: file.path), let data = try? Data(contentsOf: file) else {
      return nil
    }
    var frames = Frames(data)
    guard let first = frames.next(), let head = try? JSONDecoder().decode(Head.self, from: first),
      head.resource == Self.name(url)
    else { return nil }
    var fields = HTTPFields()
    for pair in head.fields where pair.count == 2 {
      if let name = HTTPField.Name(pair[0]) { fields.append(HTTPField(name: name, value: pair[1])) }
    }
    var bytes = Data()
    while let frame = frames.next() { bytes.append(frame) }
    guard !bytes.isEmpty, head.total.map({ Int64(bytes.count) < $0 }) ?? true else { return nil }
    return PartialBody(url: url, validator: head.validator, total: head.total, fields: fields, bytes: bytes)
  }

  /// Recreates the file with the available bytes. Returns `nil` if it isn't writable or another process writes it.
  func begin(_ partial: PartialBody) -> Writer? {
    do {
      try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
      let path = file(partial.url).path
      let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
      guard descriptor >= 0 else { return nil }
      let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
      guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else { return nil }
      let head = Head(
        resource: Self.name(partial.url), validator: partial.validator, total: partial.total,
        fields: partial.fields.map { [$0.name.rawName, $0.value] })
      try handle.truncate(atOffset: 0)
      try handle.write(contentsOf: Frames.frame(JSONEncoder().encode(head)))
      let writer = Writer(handle)
      writer.append(partial.bytes)
      writer.flush()
      return writer.isBroken ? nil : writer
    } catch {
      // Without the file, a broken download starts from the beginning. The download itself continues.
      return nil
    }
  }

  package func remove(_ url: String) {
    // The file may be missing. If its removal fails, `sweep` deletes it later.
    try? FileManager.default.removeItem(at: file(url))
  }

  /// Deletes files that were not resumed. Call it at start-up.
  ///
  /// - Returns: the number of deleted files.
  @discardableResult
  package func sweep(now: Date) -> Int {
    // Without the folder, no files exist.
    let files = try? FileManager.default.contentsOfDirectory(
      at: directory, includingPropertiesForKeys: [.contentModificationDateKey])
    var removed = 0
    for file in files ?? [] where file.pathExtension == "part" {
      let written = (try? file.resourceValues(forKeys: [.contentModificationDateKey]))?
        .contentModificationDate
      if let written, now.timeIntervalSince(written) < lifetime, read(file) { continue }
      if (try? FileManager.default.removeItem(at: file)) != nil { removed += 1 }
    }
    return removed
  }

  /// True if the file begins with a valid first frame.
  private func read(_ file: URL) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: file), let start = try? handle.read(upToCount: 1 << 16)
    else { return false }
    var frames = Frames(start)
    return frames.next().map { (try? JSONDecoder().decode(Head.self, from: $0)) != nil } ?? false
  }

  /// Appends bytes in frames of a certain size. Belongs to one download. An error only ends the writing.
  final class Writer {
    private let handle: FileHandle
    private var pending = Data()
    private(set) var isBroken = false

    init(_ handle: FileHandle) { self.handle = handle }

    func append(_ bytes: Data) {
      guard !isBroken else { return }
      pending.append(bytes)
      if pending.count >= 1 << 18 { flush() }
    }

    func flush() {
      guard !isBroken, !pending.isEmpty else { return }
      do {
        try handle.write(contentsOf: Frames.frame(pending))
        pending.removeAll(keepingCapacity: true)
      } catch {
        isBroken = true
      }
    }
  }

  /// Reads frames: four bytes of length, eight of checksum, then the bytes.
  private struct Frames {
    private let data: Data
    private var place: Data.Index

    init(_ data: Data) {
      self.data = data
      place = data.startIndex
    }

    static func frame(_ bytes: Data) -> Data {
      var frame = Data(capacity: bytes.count + 12)
      withUnsafeBytes(of: UInt32(bytes.count).littleEndian) { frame.append(contentsOf: $0) }
      frame.append(checksum(bytes))
      frame.append(bytes)
      return frame
    }

    private static func checksum(_ bytes: Data) -> Data { Data(SHA256.hash(data: bytes).prefix(8)) }

    mutating func next() -> Data? {
      guard data.endIndex - place > 12 else { return nil }
      let length = data[place..<place + 4].reversed().reduce(0) { $0 << 8 | Int($1) }
      let body = place + 12
      guard length > 0, data.endIndex - body >= length else { return nil }
      let bytes = Data(data[body..<body + length])
      guard Self.checksum(bytes) == Data(data[place + 4..<body]) else { return nil }
      place = body + length
      return bytes
    }
  }
}
