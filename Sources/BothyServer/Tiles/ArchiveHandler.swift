import BothySyncService
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// Serves PMTiles files whole or in parts, for callers that read single tiles from them over the network.
struct ArchiveHandler: Sendable {
  let tileFolder: TileFolder
  let terms: CacheHeaders

  static let mediaType = "application/vnd.pmtiles"

  func answer(_ call: ServerContext) async throws -> ServerResponse {
    let id = call.names["source"] ?? ""
    guard let (path, stamp) = tileFolder.pmtiles(id), let handle = FileHandle(forReadingAtPath: path) else {
      throw HTTPFailure.noSource(id)
    }
    guard FileVersion(path: path) == stamp else {
      throw HTTPFailure.unavailable("The archive is being replaced; try again.")
    }
    let tag = try tag(id, stamp, handle)
    guard try Preconditions(call.headers).matches(tag) else {
      throw HTTPFailure(.preconditionFailed, "changed", "The archive is another one by now.")
    }
    var fields = terms.fields(tag, modified: stamp.modified)
    fields[.acceptRanges] = "bytes"
    guard try terms.held(call, [tag], modified: stamp.modified) == nil else {
      return ServerResponse(.notModified, headers: fields)
    }
    fields[.contentType] = Self.mediaType
    let isSame = call.headers[.ifRange].map { $0 == "\"\(tag)\"" } ?? true
    switch isSame ? ByteRange(call.headers[.range], of: stamp.size) : .all {
    case .all: return ServerResponse(.ok, headers: fields, body: body(handle, 0..<stamp.size, call.channel))
    case .part(let range):
      fields[.contentRange] = "bytes \(range.lowerBound)-\(range.upperBound - 1)/\(stamp.size)"
      return ServerResponse(.partialContent, headers: fields, body: body(handle, range, call.channel))
    case .unsatisfiable:
      var problem = HTTPFailure(
        .rangeNotSatisfiable, "badRange", "The archive has \(stamp.size) bytes.")
      problem.headers[.contentRange] = "bytes */\(stamp.size)"
      throw problem
    }
  }

  /// Returns the tag of an archive, made of its header, which counts the contents, and of the file's node, size and
  /// time. An archive of gigabytes isn't read for its tag.
  private func tag(_ id: String, _ stamp: FileVersion, _ handle: FileHandle) throws -> String {
    let name = "\(id).pmtiles"
    if let known = tileFolder.tags.tag(name, stamp) { return known }
    try handle.seek(toOffset: 0)
    var bytes = try handle.read(upToCount: 16_384) ?? Data()
    bytes.append(contentsOf: "\(stamp)".utf8)
    let tag = ETagCache.checksum(bytes)
    tileFolder.tags.remember(tag, name, stamp)
    return tag
  }

  /// Returns a body that keeps the file open until all is sent. A file that is replaced meanwhile is sent to its end as
  /// it was.
  private func body(
    _ handle: FileHandle, _ range: Range<Int64>, _ channel: any Channel
  ) -> ServerResponse.Body {
    .stream(length: range.count) { writer in
      try handle.seek(toOffset: UInt64(range.lowerBound))
      var left = range.count
      while left > 0 {
        let size = min(left, ServerResponse.pieceSize)
        // The task that writes a body has a thread of connections and of `/livez`.
        let found = try await FileWork.run { try handle.read(upToCount: size) }
        guard let bytes = found, !bytes.isEmpty else {
          throw HTTPFailure.unavailable("The archive ends before its end.")
        }
        try await writer.write(ByteBuffer(bytes: bytes), to: channel)
        left -= bytes.count
      }
      try await writer.finish(nil)
    }
  }
}
