import BothyCache
import Foundation

/// The version of an archive that a download has begun or finished, stored beside its file.
struct ArchiveDownloadState: Codable, Hashable {
  /// A checksum of the address, which may have secrets.
  var address: UInt64
  /// The validator of the version.
  var validator: String
  /// The size of the whole archive, or `nil` if the server doesn't state it.
  var total: UInt64?

  static func address(of url: String) -> UInt64 { Data(url.utf8).withUnsafeBytes { XXH64.hash($0) } }

  /// Reads a stored version. Returns `nil` if none is stored, or it isn't readable.
  init?(path: String) {
    // An unreadable version counts as none, so the archive is downloaded again.
    guard let data = FileManager.default.contents(atPath: path),
      let state = try? JSONDecoder().decode(ArchiveDownloadState.self, from: data)
    else { return nil }
    self = state
  }

  init(address: UInt64, validator: String, total: UInt64?) {
    self.address = address
    self.validator = validator
    self.total = total
  }

  func write(to path: String) throws {
    try JSONEncoder().encode(self).write(to: URL(fileURLWithPath: path), options: .atomic)
  }

  /// Decides where a download goes on, as a pure rule: after the bytes that are there, or at the beginning.
  ///
  /// - Parameters:
  ///   - begun: the version that the bytes are of, or `nil` if none is stored.
  ///   - bytes: the number of bytes that are there.
  static func start(_ begun: ArchiveDownloadState?, address: UInt64, bytes: UInt64) -> UInt64 {
    guard let begun, begun.address == address, begun.total.map({ bytes <= $0 }) ?? true else { return 0 }
    return bytes
  }

  /// Returns the size of the whole file by a `Content-Range` such as `bytes 0-99/1000`.
  static func total(_ contentRange: String?) -> UInt64? {
    contentRange?.split(separator: "/").last.flatMap { UInt64($0) }
  }
}
