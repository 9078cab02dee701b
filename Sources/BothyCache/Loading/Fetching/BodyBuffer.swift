internal import Foundation

/// A body as it comes: in memory, and from some size on in a file too if it could be continued.
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

  /// Makes room for what was announced, as far as one dares to believe it.
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

  /// The body broke off: what can be continued of it. If it is not worth keeping, nothing stays on disk either.
  mutating func breakOff(keeping: Bool) -> PartialBody? {
    if keeping { writer?.flush() } else { remove() }
    writer = nil
    return keeping && !bytes.isEmpty ? whole() : nil
  }

  /// The body is whole.
  mutating func finish() {
    writer = nil
    remove()
  }

  private func remove() {
    if let partial, bytes.count >= files?.threshold ?? .max { files?.remove(partial.url) }
  }
}
