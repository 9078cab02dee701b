import ArgumentParser
import BothyGeo
import BothyStore
import Foundation

/// A tile with places: a file, or one tile of an archive.
struct TileFile: ParsableArguments {
  @Argument(help: "The file or archive, or - for standard input.", completion: .file()) var file: String
  @Option(
    help: ArgumentHelp("Which tile the file is, or which one of an archive.", valueName: "zoom/column/row"))
  var tile: String?

  /// Returns the tile that --tile or the name of the file says, or `nil`.
  func place() throws -> Tile? {
    guard let tile else {
      return isArchive ? nil : Tile(filePath: URL(filePath: file).standardizedFileURL.path)
    }
    guard let place = Tile(filePath: tile) else {
      throw ToolError("'\(tile)' isn't a tile. Write 16/18109/23965.")
    }
    return place
  }

  private var isArchive: Bool {
    ["mbtiles", "pmtiles"].contains(URL(filePath: file).pathExtension.lowercased())
  }

  /// Returns the bytes of the tile, unpacked.
  func content() async throws -> Data {
    guard isArchive else { return try Self.unpacked(Data(StandardStreams.read(file))) }
    guard let place = try place() else {
      throw ToolError("\(file) is an archive. Say which of its tiles with --tile 16/18109/23965.")
    }
    let archive = try await ReadArchive.open(file)
    try archive.info.checkCoding()
    guard let content = try await archive.content(of: place) else {
      throw ToolError("\(file) has no tile \(place). Look with `bothy tiles info`.")
    }
    return try Self.unpacked(content)
  }

  private static func unpacked(_ data: Data) throws -> Data {
    guard Gzip.isPacked(data) else { return data }
    do { return try Gzip.unpack(data, limit: VectorTile.textLimit) } catch {
      throw ToolError("The tile is packed with gzip and can't be unpacked. Get it again.")
    }
  }
}

/// The schema of vector tiles of a command.
struct SchemaOption: ParsableArguments {
  @Option(
    help: ArgumentHelp("The schema of vector tiles in JSON, in place of the known ones.", valueName: "file"),
    completion: .file())
  var schema: String?

  func read() throws -> TileSchema? {
    try schema.map { try TileSchema(json: Data(StandardStreams.read($0))) }
  }
}

extension TileArchiveInfo {
  /// Throws `BothyError` if the archive packs its tiles in a way that isn't unpacked here.
  func checkCoding() throws {
    switch tileCompression {
    case .brotli, .zstd: try TileFormat.check(coding: tileCompression.rawValue)
    case .unknown, .none, .gzip: break
    }
  }
}
