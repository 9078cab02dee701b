internal import Foundation

/// A body during its download, in memory. From some size on it is also in a file, if its download can be resumed.
struct BodyBuffer {
  private(set) var bytes: Data
  private var partial: PartialBody?
  private let files: PartialFiles?
  private var writer: PartialFiles.Writer?
  private var mayWrite: Bool
  private let limit: Int

  init(_ partial: PartialBody?, _ bytes: Data, files: PartialFiles?, limit: Int) {
    self.partial = partial
    self.partial?.bytes = Data()
    self.bytes = bytes
    self.files = files
    self.limit = limit
    mayWrite = files != nil && partial != nil
  }

  var isOverLimit: Bool { bytes.count > limit }

  /// Reserves memory for the announced length, up to a safe limit.
  mutating func expect(_ count: Int) { bytes.reserveCapacity(min(count, 1 << 24)) }

  mutating func append(_ piece: Data) {
    bytes.append(piece)
    if let writer {
      writer.append(piece)
    } else if mayWrite, let files, bytes.count >= files.threshold, let begun = whole() {
      mayWrite = false
      writer = files.begin(begun)
    }
  }

  private func whole() -> PartialBody? {
    var whole = partial
    whole?.bytes = bytes
    return whole
  }

  /// Ends a body that broke off. Returns the part that can be continued, if `keeping` is true.
  ///
  /// If nothing is kept, the file is deleted too.
  mutating func breakOff(keeping: Bool) -> PartialBody? {
    if keeping { writer?.flush() } else { remove() }
    writer = nil
    return keeping && !bytes.isEmpty ? whole() : nil
  }

  /// Ends a whole body.
  mutating func finish() {
    writer = nil
    remove()
  }

  private func remove() {
    if let partial, bytes.count >= files?.threshold ?? .max { files?.remove(partial.url) }
  }
}
