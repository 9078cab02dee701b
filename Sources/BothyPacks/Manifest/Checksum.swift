internal import BothyStore
internal import Crypto
internal import Foundation

/// SHA-256 of bytes and of files.
enum Checksum {
  static func sha256(of bytes: [UInt8]) -> String { SHA256.hash(data: bytes).hexadecimal }

  /// Reads the file once, in parts of a mebibyte. Throws the errors of the file system, and stops if the task is
  /// cancelled.
  static func sha256(ofFile path: String) throws -> String {
    let file = try FileHandle(forReadingFrom: URL(filePath: path))
    defer { try? file.close() }  // read only: nothing is lost
    var hash = SHA256()
    while let chunk = try file.read(upToCount: 1 << 20), !chunk.isEmpty {
      try Task.checkCancellation()
      hash.update(data: chunk)
    }
    return hash.finalize().hexadecimal
  }
}
