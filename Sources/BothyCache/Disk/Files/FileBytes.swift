internal import BothyStore
internal import Foundation

/// The bytes of a file or of its end, in memory of their own.
struct FileBytes {
  private let memory: UnsafeMutableRawPointer
  private let count: Int

  var bytes: UnsafeRawBufferPointer { UnsafeRawBufferPointer(start: memory, count: count) }

  func free() { Foundation.free(memory) }

  /// Returns the first bytes as `Data`, which then owns the memory. Nothing is copied.
  func data(_ length: Int) -> Data {
    if length == 0 {
      free()
      return Data()
    }
    return Data(bytesNoCopy: memory, count: length, deallocator: .free)
  }

  /// Reads a whole file. Returns `nil` if it is missing.
  static func whole(_ path: [UInt8]) throws -> FileBytes? {
    try opened(path) { file, size in try read(path, file, from: 0, count: size) }
  }

  /// Reads the last `count` bytes of a file, or all of a shorter one, with its size.
  static func end(_ path: [UInt8], _ count: Int) throws -> (FileBytes, size: Int)? {
    try opened(path) { file, size in
      let length = min(size, count)
      return (try read(path, file, from: size - length, count: length), size)
    }
  }

  /// Reads the first `count` bytes of a file, or all of a shorter one. Returns `nil` if it is missing.
  static func start(_ path: [UInt8], _ count: Int) throws -> FileBytes? {
    try opened(path) { file, size in try read(path, file, from: 0, count: min(size, count)) }
  }

  static func size(_ path: String) -> Int64? {
    var status = stat()
    guard lstat(path, &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  private static func opened<Result>(_ path: [UInt8], _ body: (Int32, Int) throws -> Result) throws -> Result?
  {
    let file = path.withPath { open($0, O_RDONLY | O_CLOEXEC) }
    guard file >= 0 else {
      if errno == ENOENT || errno == ENOTDIR || errno == EISDIR { return nil }
      throw DiskError.last(path.pathText)
    }
    defer { _ = close(file) }
    var status = stat()
    guard fstat(file, &status) == 0 else { throw DiskError.last(path.pathText) }
    guard status.st_mode & S_IFMT == S_IFREG else { return nil }
    return try body(file, Int(status.st_size))
  }

  private static func read(_ path: [UInt8], _ file: Int32, from start: Int, count: Int) throws -> FileBytes {
    guard let memory = malloc(max(count, 1)) else { throw DiskError.make(ENOMEM, path.pathText) }
    var done = 0
    while done < count {
      let length = pread(file, memory + done, count - done, off_t(start + done))
      if length < 0 && errno == EINTR { continue }
      guard length >= 0 else {
        let error = DiskError.last(path.pathText)
        Foundation.free(memory)
        throw error
      }
      if length == 0 { break }
      done += length
    }
    return FileBytes(memory: memory, count: done)
  }

  /// Creates a file of two parts. It isn't synced to the disk, because the checksum detects a loss of power.
  static func write(_ path: [UInt8], _ body: Data, _ tail: [UInt8]) throws {
    let file = path.withPath { open($0, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600) }
    guard file >= 0 else { throw DiskError.last(path.pathText) }
    do {
      try body.withUnsafeBytes { body in
        try tail.withUnsafeBytes { tail in try write(path, file, body, tail) }
      }
    } catch {
      _ = close(file)
      throw error
    }
    guard close(file) == 0 else { throw DiskError.last(path.pathText) }
  }

  private static func write(
    _ path: [UInt8], _ file: Int32, _ body: UnsafeRawBufferPointer, _ tail: UnsafeRawBufferPointer
  ) throws {
    let total = body.count + tail.count
    var done = 0
    while done < total {
      let first =
        done < body.count ? UnsafeRawBufferPointer(rebasing: body[done...]) : .init(start: nil, count: 0)
      let second = UnsafeRawBufferPointer(rebasing: tail[max(0, done - body.count)...])
      let parts = [first, second].filter { !$0.isEmpty }.map {
        iovec(iov_base: UnsafeMutableRawPointer(mutating: $0.baseAddress), iov_len: $0.count)
      }
      let length = writev(file, parts, Int32(parts.count))
      if length < 0 && errno == EINTR { continue }
      guard length >= 0 else { throw DiskError.last(path.pathText) }
      done += length
    }
  }
}

extension [UInt8] {
  /// Calls `body` with these bytes, closed by a zero, as the path of a file.
  func withPath<Result>(_ body: (UnsafePointer<CChar>) throws -> Result) rethrows -> Result {
    try withUnsafeBytes { bytes in
      guard let start = bytes.bindMemory(to: CChar.self).baseAddress else { return try "".withCString(body) }
      return try body(start)
    }
  }

  /// The path as a text, for messages.
  var pathText: String { String(decoding: prefix { $0 != 0 }, as: UTF8.self) }
}
