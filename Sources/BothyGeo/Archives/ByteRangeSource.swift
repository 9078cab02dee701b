package import BothyCache
public import Foundation
import HTTPTypes

/// A large file that is read in parts, such as a local file or a file on a server.
public protocol ByteRangeSource: Sendable {
  /// Returns the bytes of a range, or fewer if the file ends before.
  ///
  /// The result never has more bytes than the range, and a validator of the file's version, or `nil` if it isn't known.
  /// Without one, the replacement of a file isn't detected. `expecting` is the validator of earlier parts. Throws
  /// `BothyError` `.changedArchive` if the file was replaced since.
  func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?)
}

/// A file on this machine. Its size and modification time detect that it was replaced.
package struct FileRangeSource: ByteRangeSource {
  private let path: String

  /// Opens a file. Throws `BothyError` `.unavailable` if the file doesn't exist.
  package init(path: String) throws(BothyError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      throw BothyError(.unavailable, "The file \(path) does not exist. Check the path.")
    }
    self.path = path
  }

  package func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw BothyError(.unavailable, "\(path) can't be read. Check that it is there and may be read.")
    }
    defer { try? handle.close() }  // The file was only read.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let size = (attributes[.size] as? NSNumber)?.uint64Value ?? 0
    let modified = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    let current = "\(size)@\(modified)"
    if let validator, validator != current {
      throw BothyError(.changedArchive, "\(path) was replaced while it was being read. Open it again.")
    }
    guard range.lowerBound < size else { return (Data(), current) }
    try handle.seek(toOffset: range.lowerBound)
    let count = min(range.upperBound, size) - range.lowerBound
    return (try handle.read(upToCount: Int(count)) ?? Data(), current)
  }
}

/// A file on a server, read by range requests (RFC 9110, section 14).
///
/// The validator of its version is its strong ETag, else its weak ETag, else its modification time.
package struct HTTPRangeSource: ByteRangeSource {
  private let url: String
  private let loader: any ResourceLoader

  /// Describes the file without a request. If the server doesn't support range requests, each read throws `BothyError`
  /// `.unavailable`.
  package init(url: String, loader: any ResourceLoader) {
    self.url = url
    self.loader = loader
  }

  package func bytes(
    _ range: Range<UInt64>, expecting validator: String?
  ) async throws -> (data: Data, validator: String?) {
    guard !range.isEmpty else { return (Data(), validator) }
    var fields: HTTPFields = [
      .range: "bytes=\(range.lowerBound)-\(range.upperBound - 1)", .acceptEncoding: "identity",
    ]
    if let validator, validator.hasPrefix("\"") { fields[.ifMatch] = validator }
    let response = try await loader.load(ResourceRequest(url, fields: fields))
    let current = response.fields[.eTag] ?? response.fields[.lastModified]
    switch response.status {
    case 206: break
    case 412: throw changed
    case 416: return (Data(), current ?? validator)
    case 200:
      throw BothyError(
        .unavailable,
        "The server of \(url) does not send parts of files. Download the archive and open the file.")
    default:
      throw BothyError(.unavailable, "\(url) can't be read: the server answered \(response.status).")
    }
    if let validator, let current, validator != current { throw changed }
    let wanted = Int(clamping: range.upperBound - range.lowerBound)
    guard Self.start(response.fields[.contentRange]) == range.lowerBound else {
      throw BothyError(.unavailable, "The server of \(url) sent another part than it was asked for.")
    }
    var data = Data()
    for try await piece in response.body {
      data.append(piece)
      guard data.count <= wanted else {
        throw BothyError(.unavailable, "The server of \(url) sent more than the part it was asked for.")
      }
    }
    return (data, current ?? validator)
  }

  private var changed: BothyError {
    BothyError(.changedArchive, "\(url) was replaced while it was being read. Open it again.")
  }

  /// Returns the first position of a content range: 0 for `bytes 0-99/1000`.
  private static func start(_ field: String?) -> UInt64? {
    guard let field, field.hasPrefix("bytes ") else { return nil }
    return UInt64(field.dropFirst(6).prefix { $0.isNumber })
  }
}
