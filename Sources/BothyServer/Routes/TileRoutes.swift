import BothyGeo
import BothyStore
import Foundation
import HTTPTypes

/// The routes of tiles: the list of sources, a TileJSON document of each, their tiles, and PMTiles files in parts.
///
/// A server without a folder of tiles has none of them.
extension ServerServices {
  func tileRoutes() -> [Route] {
    guard let tileFolder = tiles else { return [] }
    let isOpen = tileFolder.isOpen
    let giving = TileHandler(tileFolder: tileFolder, terms: tileTerms(tileFolder), packs: compressesTiles)
    let archives = ArchiveHandler(tileFolder: tileFolder, terms: tileTerms(tileFolder))
    let names = ["ETag", "Last-Modified"]
    let unchanged = Route.Documented(status: 304, about: "The caller has it.", headers: names)
    let conditions: [Route.Parameter] = [.ifNoneMatch, .ifModifiedSince]
    return [
      Route(
        method: .get, pattern: "/tiles", operation: "listTiles", summary: "The sources of tiles there are.",
        isOpen: isOpen, readsFiles: true, parameters: [.ifNoneMatch],
        answers: [
          .init(status: 200, about: "The sources.", schema: "TileSources", headers: ["ETag"]),
          .init(status: 304, about: "Nothing has changed since.", headers: ["ETag"]),
        ], problems: [400], handle: listTiles),
      Route(
        method: .get, pattern: "/tiles/{source}.json", operation: "getTileJSON",
        summary: "What a source is, as TileJSON 3.0.0; its tiles' address is that of this server.",
        isOpen: isOpen, readsFiles: true, parameters: [.ifNoneMatch],
        answers: [
          .init(status: 200, about: "The TileJSON document.", schema: "TileJSON", headers: ["ETag"]),
          .init(status: 304, about: "Nothing has changed since.", headers: ["ETag"]),
        ], problems: [400, 404], handle: tileJSON),
      Route(
        method: .get, pattern: "/tiles/{source}.pmtiles", operation: "getArchive",
        summary: "A PMTiles file, whole or one range of it.", isOpen: isOpen,
        readsFiles: true, parameters: conditions + [.range, .archiveIfRange, .archiveIfMatch],
        answers: [
          .init(
            status: 200, about: "All of it.", schema: "Bytes", type: ArchiveHandler.mediaType,
            headers: names + ["Accept-Ranges"]),
          .init(
            status: 206, about: "The range.", schema: "Bytes", type: ArchiveHandler.mediaType,
            headers: names + ["Accept-Ranges", "Content-Range"]),
          unchanged,
        ], problems: [400, 404, 412, 416], handle: archives.answer),
      Route(
        method: .get, pattern: "/tiles/{source}/{z}/{x}/{y}", operation: "getTile",
        summary: """
          A tile. The row may end in .json, .pbf, .png, .jpg, .webp or .avif, as the source's TileJSON says.
          """, isOpen: isOpen, readsFiles: true, parameters: conditions,
        answers: [
          .init(
            status: 200, about: "The tile, packed with gzip for those who accept it.", schema: "Bytes",
            type: TileFormat.geojson.mediaType, otherTypes: Array(TileFormat.allMediaTypes.dropFirst()),
            headers: names),
          unchanged,
        ], problems: [400, 404, 406], handle: giving.answer),
    ]
  }

  private func tileTerms(_ tileFolder: TileFolder) -> CacheHeaders {
    CacheHeaders(isPublic: tileFolder.isOpen || !asksForTokens, maxAge: tileFolder.maxAge, now: now)
  }

  private func listTiles(_ call: ServerContext) async throws -> ServerResponse {
    guard let tiles else { throw HTTPFailure.notFound }
    let sources = await tiles.list().map { source -> JSONValue in
      var members: [String: JSONValue] = [
        "id": .string(source.id), "name": .string(source.summary.name ?? source.id),
        "tilejson": .string("/tiles/\(Self.encoded(source.id)).json"),
        "minzoom": .int(Int64(source.summary.zooms.lowest)),
        "maxzoom": .int(Int64(source.summary.zooms.highest)),
      ]
      if let format = source.summary.format { members["format"] = .string(format.rawValue) }
      if let attribution = source.summary.attribution { members["attribution"] = .string(attribution) }
      return .object(members)
    }
    return try document(["sources": .array(sources)], tiles, call)
  }

  private func tileJSON(_ call: ServerContext) async throws -> ServerResponse {
    let id = call.names["source"] ?? ""
    guard let tiles, let summary = try await tiles.summary(of: id) else {
      throw HTTPFailure.noSource(id)
    }
    let address = "\(call.origin)/tiles/\(Self.encoded(id))"
    return try document(summary.tileJSON(id, at: address), tiles, call)
  }

  /// Responds with a document that callers validate each time. It is sent only if it has changed.
  private func document(_ json: JSONValue, _ tiles: TileFolder, _ call: ServerContext) throws
    -> ServerResponse
  {
    var writer = JSONWriter(reserving: 1024)
    json.write(to: &writer)
    let tag = ETagCache.checksum(writer.bytes)
    var fields = tileTerms(tiles).shared()
    fields[.eTag] = "W/\"\(tag)\""
    fields[.cacheControl] = "no-cache"
    guard try Preconditions(call.headers).noneMatches(tag) else {
      return ServerResponse(.notModified, headers: fields)
    }
    return .json(writer.bytes, headers: fields)
  }

  private static func encoded(_ id: String) -> String {
    id.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed) ?? id
  }
}

extension ServerContext {
  /// The address under which the caller reached this server, such as `http://127.0.0.1:8080`. It is empty if the caller
  /// didn't send one that can be trusted in a document. Behind a proxy that ends TLS, the scheme is that of
  /// `X-Forwarded-Proto`.
  fileprivate var origin: String {
    guard let authority, !authority.isEmpty,
      authority.utf8.allSatisfy({ byte in
        switch byte {
        case 0x30...0x39, 0x41...0x5A, 0x61...0x7A: true
        default: ".-:[]_".utf8.contains(byte)
        }
      })
    else { return "" }
    let isSecure = HTTPField.Name("X-Forwarded-Proto").flatMap { headers[$0] } == "https"
    return "\(isSecure ? "https" : "http")://\(authority)"
  }
}

extension Route.Parameter {
  fileprivate static let ifModifiedSince = Self(
    name: "If-Modified-Since", place: .header, schema: #"{"type":"string"}"#,
    about: "Send it only if it is newer than this date; without If-None-Match.")
  fileprivate static let archiveIfRange = Self(
    name: "If-Range", place: .header, schema: #"{"type":"string"}"#,
    about: "Give the range only of the archive with this entity tag, else all.")
  fileprivate static let archiveIfMatch = Self(
    name: "If-Match", place: .header, schema: #"{"type":"string"}"#,
    about: "Answer only if the archive still has this entity tag.")
}
