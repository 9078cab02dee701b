import BothyStore
import Crypto
package import Foundation

/// Files named by their content: hashing, atomic writes and reads at an offset. It is independent of devices and
/// servers.
///
/// Every function blocks the calling thread. `FileWork` runs them outside of the threads of tasks.
package enum ContentFile {
  /// The number of bytes that are held in memory at a time.
  package static let pieceSize = 256 << 10

  /// Returns the SHA-256 of `bytes`, in 64 lower-case hexadecimal digits.
  package static func sha256(of bytes: some DataProtocol) -> String { SHA256.hash(data: bytes).hexadecimal }

  /// Returns the SHA-256 and size of a file. Reads all of it.
  package static func digest(of path: String) throws -> (sha256: String, size: Int64) {
    let file = try OpenFile(path, O_RDONLY)
    var hash = SHA256()
    var offset: Int64 = 0
    while true {
      let piece = try file.read(at: offset, count: pieceSize)
      if piece.isEmpty { return (hash.finalize().hexadecimal, offset) }
      hash.update(data: piece)
      offset += Int64(piece.count)
    }
  }

  /// Returns the size of a file, or `nil` if it doesn't exist.
  package static func size(of path: String) -> Int64? {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    return Int64(status.st_size)
  }

  /// Returns the time when a file was last used, in milliseconds since 1970.
  package static func used(_ path: String) -> Int64? {
    // `nil` if the file was deleted.
    let date = try? FileManager.default.attributesOfItem(atPath: path)[.modificationDate] as? Date
    return date.map { Int64(($0.timeIntervalSince1970 * 1000).rounded()) }
  }

  /// Notes that a file was used. Does nothing if the file was deleted.
  package static func touch(_ path: String, at milliseconds: Int64) {
    let date = Date(timeIntervalSince1970: Double(milliseconds) / 1000)
    try? FileManager.default.setAttributes([.modificationDate: date], ofItemAtPath: path)
  }

  package static func remove(_ path: String) { unlink(path) }

  /// Renames a complete, durable file to its final name. After a crash that file is complete or doesn't exist.
  package static func publish(_ temporary: String, as path: String) throws {
    guard rename(temporary, path) == 0 else { throw failure(path) }
    let folder = (path as NSString).deletingLastPathComponent
    let file = try OpenFile(folder, O_RDONLY)
    // Some file systems cannot sync a folder. The name is then durable with the next sync of their journal.
    _ = fsync(file.descriptor)
  }

  /// Returns the names in a folder, or none if the folder doesn't exist.
  package static func names(in folder: String) -> [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
  }

  /// Returns the error for `errno`.
  package static func failure(_ path: String) -> BothyError {
    let number = errno
    let reason = String(cString: strerror(number))
    switch number {
    case ENOSPC, EDQUOT:
      return BothyError(.diskFull, "The disk is full: \(path) can't be written. Free some space.")
    case ENOENT: return BothyError(.notFound, "No file exists at \(path).")
    default: return BothyError(.cannotOpen, "\(path): \(reason). Check the disk and the file's rights.")
    }
  }
}

/// An open file, closed when it leaves its scope.
package struct OpenFile: ~Copyable {
  package let descriptor: Int32
  package let path: String

  package init(_ path: String, _ flags: Int32) throws {
    descriptor = open(path, flags | O_CLOEXEC, 0o600)
    self.path = path
    guard descriptor >= 0 else { throw ContentFile.failure(path) }
  }

  deinit { _ = Foundation.close(descriptor) }

  package var size: Int64 {
    var status = stat()
    return fstat(descriptor, &status) == 0 ? Int64(status.st_size) : 0
  }

  /// Returns up to `count` bytes from `offset`, fewer only at the end of the file.
  package func read(at offset: Int64, count: Int) throws -> [UInt8] {
    var failed = false
    let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
      while filled < count {
        let got = pread(
          descriptor, buffer.baseAddress?.advanced(by: filled), count - filled, off_t(offset) + off_t(filled))
        if got < 0 && errno == EINTR { continue }
        if got < 0 { failed = true }
        if got <= 0 { return }
        filled += got
      }
    }
    if failed { throw ContentFile.failure(path) }
    return bytes
  }

  package func write(_ bytes: some ContiguousBytes, at offset: Int64) throws {
    try bytes.withUnsafeBytes { buffer in
      var done = 0
      while done < buffer.count {
        let wrote = pwrite(
          descriptor, buffer.baseAddress?.advanced(by: done), buffer.count - done, off_t(offset) + off_t(done)
        )
        if wrote < 0 && errno == EINTR { continue }
        guard wrote > 0 else { throw ContentFile.failure(path) }
        done += wrote
      }
    }
  }

  package func sync() throws {
    guard fsync(descriptor) == 0 else { throw ContentFile.failure(path) }
  }
}

/// Runs blocking file work on a thread that may block.
package enum FileWork {
  package static func run<Result: Sendable>(_ body: @escaping @Sendable () throws -> Result) async throws
    -> Result
  {
    try await withCheckedThrowingContinuation { continuation in
      DispatchQueue.global(qos: .utility).async {
        continuation.resume(with: Swift.Result { try body() })
      }
    }
  }
}
