import BothyGeo
import BothyStore
import Foundation
import HTTPTypes
import NIOCore

/// Serves single tiles: finds one, compares it with the caller's copy, and compresses or decompresses it.
struct TileHandler: Sendable {
  let tileFolder: TileFolder
  let terms: CacheHeaders
  /// True if responses may be compressed for callers that accept it.
  let packs: Bool

  /// The largest tile that is decompressed, in bytes.
  static let unpackedLimit = 64 << 20
  /// The size from which compression is useful, in bytes.
  private static let packedFrom = 256

  func answer(_ call: ServerContext) async throws -> ServerResponse {
    let address = try TileAddress(call.names)
    let id = call.names["source"] ?? ""
    guard let source = try await tileFolder.source(id) else { throw HTTPFailure.noSource(id) }
    guard let place = source.locate(address.tile, as: address.format) else { throw Self.absent(address.tile) }
    let name = "\(id)/\(address.tile)/\(place.format?.rawValue ?? "")"
    if let tag = tileFolder.tags.tag(name, place.stamp), let answer = try unchanged(call, tag, place.stamp) {
      return answer
    }
    guard let stored = try await source.read(address.tile, at: place) else {
      throw Self.absent(address.tile)
    }
    // A file that was replaced meanwhile has another checksum than the cached one.
    let isSame = stored.stamp == place.stamp
    let known = isSame ? tileFolder.tags.tag(name, place.stamp) : nil
    let tag = known ?? Self.tag(of: stored)
    if isSame, known == nil { tileFolder.tags.remember(tag, name, place.stamp) }
    if let answer = try unchanged(call, tag, place.stamp) { return answer }
    return try give(stored, tag, place.stamp, call)
  }

  private func unchanged(_ call: ServerContext, _ tag: String, _ stamp: FileVersion) throws -> ServerResponse?
  {
    let tags = Self.forms(of: tag, call)
    guard let held = try terms.held(call, tags, modified: stamp.modified) else { return nil }
    return ServerResponse(.notModified, headers: terms.fields(held, modified: stamp.modified))
  }

  /// Returns the tag of a tile as it is stored. A packing that isn't undone here is a part of it.
  private static func tag(of stored: StoredTile) -> String {
    let checksum = ETagCache.checksum(stored.data)
    switch stored.packing {
    case .brotli, .zstd: return "\(checksum)-\(stored.packing.rawValue)"
    case .gzip, .none, .unknown: return checksum
    }
  }

  /// Returns the tags of all forms in which a tile is sent. The first is that of the form for this caller.
  private static func forms(of tag: String, _ call: ServerContext) -> [String] {
    // The digits of a checksum alone have no dash.
    if tag.contains("-") { return [tag] }
    return AcceptedEncoding.admitsGzip(call.headers) ? [tag + "-gzip", tag] : [tag, tag + "-gzip"]
  }

  private func give(_ stored: StoredTile, _ tag: String, _ stamp: FileVersion, _ call: ServerContext) throws
    -> ServerResponse
  {
    let (bytes, packing) = try packed(stored, call)
    let suffix = packing == .gzip ? "-gzip" : ""
    var fields = terms.fields(tag + suffix, modified: stamp.modified)
    fields[.contentType] = stored.format?.mediaType ?? ServerResponse.bytesType
    if packing != .none { fields[.contentEncoding] = packing == .brotli ? "br" : packing.rawValue }
    return ServerResponse(.ok, headers: fields, body: .bytes([UInt8](bytes)))
  }

  /// Returns the bytes in an encoding that the caller accepts, and that encoding.
  private func packed(_ stored: StoredTile, _ call: ServerContext) throws -> (
    Data, TileArchiveInfo.Compression
  ) {
    let takesGzip = AcceptedEncoding.admitsGzip(call.headers)
    switch stored.packing {
    case .gzip:
      if takesGzip { return (stored.data, .gzip) }
      let packed = [UInt8](stored.data)
      let size = try Gzip.unpackedSize(of: packed, limit: Self.unpackedLimit)
      return (Data(try Gzip.decompress(packed, size: size).readableBytesView), .none)
    case .brotli, .zstd:
      let coding = stored.packing == .brotli ? "br" : "zstd"
      guard AcceptedEncoding.admits(coding, call.headers) else {
        throw HTTPFailure(
          .notAcceptable, "notAcceptable",
          "This tile is packed with \(coding), which is not unpacked here. Send Accept-Encoding: \(coding).")
      }
      return (stored.data, stored.packing)
    case .none, .unknown:
      guard packs, takesGzip, stored.format?.gainsByPacking ?? false, stored.data.count > Self.packedFrom,
        let bytes = try? Gzip.compress([UInt8](stored.data))  // on failure the tile is sent as it is
      else { return (stored.data, .none) }
      return (Data(bytes), .gzip)
    }
  }

  private static func absent(_ tile: Tile) -> HTTPFailure {
    HTTPFailure(.notFound, "notFound", "This source has no tile \(tile).")
  }
}

extension HTTPFailure {
  static func noSource(_ id: String) -> HTTPFailure {
    HTTPFailure(
      .notFound, "notFound", "The source of tiles '\(id)' does not exist. See /tiles for those there are.")
  }
}
