public import BothyCache
public import Foundation
import HTTPTypes

/// The seam to a large file somewhere: hands out parts of it.
public protocol ByteRangeSource: Sendable {
  /// The bytes of a range, fewer when the file ends before. `expecting` is the validator of earlier parts: throws
  /// `GeoError` `.changedArchive` when the file is another one by now.
  func bytes(_ range: Range<UInt64>, expecting validator: String?) async throws -> ByteRange
}

/// A part of a file, and what tells its version from others.
public struct ByteRange: Sendable, Hashable {
  /// The bytes; fewer than were asked for where the file ends before, none beyond its end.
  public var data: Data
  /// Nil where nothing is known.
  public var validator: String?

  /// For sources of one's own. With a nil validator nobody notices when the file is replaced.
  public init(data: Data, validator: String?) {
    self.data = data
    self.validator = validator
  }
}

/// A file on this machine. A file that is replaced is told by its size and time.
public struct FileRangeSource: ByteRangeSource {
  private let path: String

  /// Throws `GeoError` `.unavailable` when there is no file.
  public init(path: String) throws(GeoError) {
    var isFolder: ObjCBool = false
    guard FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), !isFolder.boolValue else {
      throw GeoError(.unavailable, "There is no file at \(path). Check the path.")
    }
    self.path = path
  }

  public func bytes(_ range: Range<UInt64>, expecting validator: String?) async throws -> ByteRange {
    guard let handle = FileHandle(forReadingAtPath: path) else {
      throw GeoError(.unavailable, "\(path) can't be read. Check that it is there and may be read.")
    }
    defer { try? handle.close() }  // Only read from.
    let attributes = try FileManager.default.attributesOfItem(atPath: path)
    let size = (attributes[.size] as? NSNumber)?.uint64Value ?? 0
    let modified = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
    let current = "\(size)@\(modified)"
    if let validator, validator != current {
      throw GeoError(.changedArchive, "\(path) was replaced while it was being read. Open it again.")
    }
    guard range.lowerBound < size else { return ByteRange(data: Data(), validator: current) }
    try handle.seek(toOffset: range.lowerBound)
    let count = min(range.upperBound, size) - range.lowerBound
    return ByteRange(data: try handle.read(upToCount: Int(count)) ?? Data(), validator: current)
  }
}

/// A file at an address, read by range requests (RFC 9110, section 14). Its version is told by its strong ETag, else by its
/// weak one, else by when it was modified.
public struct HTTPRangeSource: ByteRangeSource {
  private let url: String
  private let loader: any ResourceLoader

  /// Describes the file; nothing is asked yet. The server must answer range requests, or each read throws `GeoError`
  /// `.unavailable`.
  public init(url: String, loader: any ResourceLoader) {
    self.url = url
    self.loader = loader
  }

  public func bytes(_ range: Range<UInt64>, expecting validator: String?) async throws -> ByteRange {
    guard !range.isEmpty else { return ByteRange(data: Data(), validator: validator) }
    var fields: HTTPFields = [
      .range: "bytes=\(range.lowerBound)-\(range.upperBound - 1)", .acceptEncoding: "identity",
    ]
    if let validator, validator.hasPrefix("\"") { fields[.ifMatch] = validator }
    let response = try await loader.load(ResourceRequest(url, fields: fields))
    let current = response.fields[.eTag] ?? response.fields[.lastModified]
    switch response.status {
    case 206: break
    case 412: throw changed
    case 416: return ByteRange(data: Data(), validator: current ?? validator)
    case 200:
      throw GeoError(
        .unavailable,
        "The server of \(url) does not send parts of files. Download the archive and open the file.")
    default:
      throw GeoError(.unavailable, "\(url) can't be read: the server answered \(response.status).")
    }
    if let validator, let current, validator != current { throw changed }
    let wanted = Int(clamping: range.upperBound - range.lowerBound)
    guard Self.start(response.fields[.contentRange]) == range.lowerBound else {
      throw GeoError(.unavailable, "The server of \(url) sent another part than it was asked for.")
    }
    var data = Data()
    for try await piece in response.body {
      data.append(piece)
      guard data.count <= wanted else {
        throw GeoError(.unavailable, "The server of \(url) sent more than the part it was asked for.")
      }
    }
    return ByteRange(data: data, validator: current ?? validator)
  }

  private var changed: GeoError {
    GeoError(.changedArchive, "\(url) was replaced while it was being read. Open it again.")
  }

  /// The first number of `bytes 0-99/1000`.
  private static func start(_ field: String?) -> UInt64? {
    guard let field, field.hasPrefix("bytes ") else { return nil }
    return UInt64(field.dropFirst(6).prefix { $0.isNumber })
  }
}
