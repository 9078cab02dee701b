internal import BothyStore
internal import Crypto
package import Foundation
internal import HTTPTypes

/// Keeps the beginnings of large bodies on disk while they come, so that also a killed process can go on where it was.
///
/// Each is one file of frames, each frame with its length and checksum: the first one says what it is, the others are
/// the bytes. What is read back is the longest run of whole frames, so that a file torn by a crash or a loss of power is
/// only shorter. Files that nobody came back for go after a day.
package struct PartialFiles: Sendable {
  private let directory: URL
  /// Bodies are kept from this many bytes on; smaller ones are fetched anew.
  let threshold: Int
  private let lifetime: TimeInterval = 24 * 3600

  package init(_ directory: URL, threshold: Int = 1 << 20) {
    self.directory = directory
    self.threshold = threshold
  }

  private struct Head: Codable {
    /// A hash of the address: addresses may carry secrets, which belong in no file.
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

  /// What is there of the address; nil when there is nothing that can be continued.
  package func read(_ url: String) -> PartialBody? {
    // What cannot be read is not there: then everything is fetched.
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

  /// Begins the file anew with what there is; nil when it cannot be written or another process is writing it.
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
      // Without the file a broken download begins anew; the download itself goes on.
      return nil
    }
  }

  package func remove(_ url: String) {
    // It may not be there; if it cannot be removed, it goes with its time.
    try? FileManager.default.removeItem(at: file(url))
  }

  /// Removes what nobody came back for. To be called at start-up.
  ///
  /// - Returns: how many files went.
  @discardableResult
  package func sweep(now: Date) -> Int {
    // No folder: nothing to remove.
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

  /// Whether the file begins as one of these does.
  private func read(_ file: URL) -> Bool {
    guard let handle = try? FileHandle(forReadingFrom: file), let start = try? handle.read(upToCount: 1 << 16)
    else { return false }
    var frames = Frames(start)
    return frames.next().map { (try? JSONDecoder().decode(Head.self, from: $0)) != nil } ?? false
  }

  /// Appends bytes in frames of some size. Belongs to one download; an error only ends the writing.
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

  /// Goes through frames: four bytes of length, eight of checksum, the bytes.
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
