package import Foundation
import Synchronization

/// A large file that is read in parts, such as a local file or a file on a server.
package protocol ByteRangeSource: Sendable {
  /// Returns the bytes of a range, or fewer if the file ends before.
  ///
  /// The result never has more bytes than the range, and a validator of the file's version, or `nil` if it isn't known.
  /// Without one, the replacement of a file isn't detected. `expecting` is the validator of earlier parts. Throws
  /// `BothyError` `changedArchive` if the file was replaced since.
  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?)
}

/// The attributes of a file by which its replacement is noticed.
package struct FileFingerprint: Sendable, Hashable {
  private let inode: UInt64
  private let seconds: Int
  private let nanoseconds: Int
  /// The size in bytes.
  package let size: UInt64

  /// Reads the attributes by one system call. Returns `nil` if the path has no file.
  package init?(path: String) {
    var status = stat()
    guard stat(path, &status) == 0 else { return nil }
    self.init(status)
  }

  /// Reads the attributes of an open file.
  init?(descriptor: Int32) {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { return nil }
    self.init(status)
  }

  private init?(_ status: stat) {
    guard status.st_mode & S_IFMT == S_IFREG else { return nil }
    inode = UInt64(status.st_ino)
    size = UInt64(clamping: status.st_size)
    #if canImport(Darwin)
      let time = status.st_mtimespec
    #else
      let time = status.st_mtim
    #endif
    (seconds, nanoseconds) = (Int(time.tv_sec), Int(time.tv_nsec))
  }

  /// The time of the last change in milliseconds since 1970.
  package var milliseconds: Int64 { Int64(seconds) * 1000 + Int64(nanoseconds / 1_000_000) }

  var validator: String { "\(inode)-\(size)@\(seconds).\(nanoseconds)" }
}

/// A file on this machine. Its number, size and modification time detect that it was replaced.
///
/// The file stays open between reads. A read costs the look at these attributes, and the read itself.
package final class FileRangeSource: ByteRangeSource {
  private let path: String
  private let opened = Mutex<(handle: FileHandle, stamp: FileFingerprint)?>(nil)

  /// Describes a file. Throws `BothyError` `unavailable` if the file doesn't exist.
  package init(path: String) throws(BothyError) {
    guard FileFingerprint(path: path) != nil else {
      throw BothyError(.unavailable, "The file \(path) does not exist. Check the path.")
    }
    self.path = path
  }

  package func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    try blockingBytes(range, expecting: validator)
  }

  /// Reads a range and blocks the thread for it.
  ///
  /// The bytes are those of one version: the file is looked at before and after the read.
  package func blockingBytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) throws -> (data: Data, validator: String?) {
    try opened.withLock { opened in
      guard let named = FileFingerprint(path: path) else { throw unreadable }
      if opened?.stamp != named {
        // The old file was only read.
        try? opened?.handle.close()
        opened = nil
        guard let handle = FileHandle(forReadingAtPath: path),
          let stamp = FileFingerprint(descriptor: handle.fileDescriptor)
        else { throw unreadable }
        opened = (handle, stamp)
      }
      guard let (handle, stamp) = opened else { throw unreadable }
      if let validator, validator != stamp.validator { throw changed }
      guard range.lowerBound < stamp.size else { return (Data(), stamp.validator) }
      try handle.seek(toOffset: range.lowerBound)
      let count = min(range.upperBound, stamp.size) - range.lowerBound
      let data = try handle.read(upToCount: Int(count)) ?? Data()
      guard FileFingerprint(descriptor: handle.fileDescriptor) == stamp else { throw changed }
      return (data, stamp.validator)
    }
  }

  private var changed: BothyError {
    BothyError(.changedArchive, "\(path) was replaced while it was being read. Open it again.")
  }

  private var unreadable: BothyError {
    BothyError(.unavailable, "\(path) can't be read. Check that it is there and may be read.")
  }
}
