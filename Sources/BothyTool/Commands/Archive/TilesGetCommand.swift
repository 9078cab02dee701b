import ArgumentParser
import BothyCache
import BothyGeo
import BothyHTTP
import Foundation

/// `bothy tiles get`: downloads an archive, or an area of it.
struct TilesGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Gets an archive from a server, or an area of it, into a file.",
    discussion: """
      Without an area it is the whole archive, MBTiles or PMTiles. A run that was
      interrupted goes on where it was, and one that finds the file current asks for
      one byte. Every tile is read and unpacked before the file is replaced, at once
      and whole. If the archive changes on the server meanwhile, it begins anew.

      With an area or --zooms only those tiles of a PMTiles archive are asked for,
      near ones together, and the new file's extension says of which kind it is. It
      replaces an earlier one when it is whole.

      The server must send parts of files, as most servers of files do.

      Example:  bothy tiles get https://tiles.example.org/hills.pmtiles hills.pmtiles
                bothy tiles get https://tiles.example.org/all.pmtiles oslo.pmtiles \\
                  --box 10.6,59.8,10.9,60.0 --zooms 0-14
      """)

  @Argument(help: "The address of the archive.") var address: String
  @Argument(help: "The file to make or to replace.", completion: .file()) var target: String
  @OptionGroup var area: ArchiveAreaOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard address.hasPrefix("http://") || address.hasPrefix("https://") else {
      throw ValidationError(
        "Give an address that begins with https://. For files there is `bothy tiles export`.")
    }
  }

  func run() async throws {
    if area.isGiven { return try await getArea() }
    let line = ProgressLine()
    let info: TileArchiveInfo
    do {
      defer { line.clear() }
      info = try await TileArchives.download(
        url: address, to: target, loader: HTTPLoader.system, userAgent: SourceRecord.defaultUserAgent
      ) { progress in
        let whole = progress.expected.map { " of \($0)" } ?? ""
        line.show("\(progress.received)\(whole) bytes")
      }
    }
    try output.print {
      "\(target): \(info.name ?? "an archive without a name"), all tiles read"
    } json: { writer in
      writer.member("container", info.container.rawValue)
      writer.member("name", info.name)
      writer.member("checked", true)
    }
  }

  private func getArea() async throws {
    let archive = try await ReadArchive.open(address)
    let (region, zooms) = (try area.region(), try area.range())
    let written = try await ArchiveFile.replace(target, with: archive, in: region, zooms: zooms)
    try output.print {
      "\(target): \(written) tiles"
    } json: {
      $0.member("tiles", written)
    }
  }
}

/// The area and the zooms of an archive that a command reads.
struct ArchiveAreaOptions: ParsableArguments {
  @OptionGroup var place: AreaOptions
  @Option(help: ArgumentHelp("The zooms, 10-16, or one alone.", valueName: "low-high")) var zooms: String?

  var isGiven: Bool { place.isGiven || zooms != nil }

  func validate() throws { _ = try range() }

  func region() throws -> RegionArea? { place.isGiven ? .box(try place.bounds()) : nil }

  func range() throws -> ZoomRange? {
    try zooms.map { text in
      let numbers = text.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard (1...2).contains(numbers.count), let low = numbers[0], let high = numbers.last ?? nil,
        low <= high,
        Tile.zooms.contains(low), Tile.zooms.contains(high)
      else { throw ToolError("'\(text)' aren't zooms. Write them as 10-16, or one alone.") }
      return try ZoomRange(low, high)
    }
  }
}

/// Archives that commands write, of the kind that the file's extension says.
enum ArchiveFile {
  static func isPMTiles(_ path: String) -> Bool {
    URL(filePath: path).pathExtension.lowercased() == "pmtiles"
  }

  static func copy(
    _ archive: any TileArchive, to path: String, in area: RegionArea?, zooms: ZoomRange?
  ) async throws -> Int {
    isPMTiles(path)
      ? try await PMTilesWriter.copy(archive, to: path, in: area, zooms: zooms)
      : try await MBTilesWriter.copy(archive, to: path, in: area, zooms: zooms)
  }

  static func replace(
    _ path: String, with archive: any TileArchive, in area: RegionArea?, zooms: ZoomRange?
  ) async throws -> Int {
    isPMTiles(path)
      ? try await PMTilesWriter.replace(path, with: archive, in: area, zooms: zooms)
      : try await MBTilesWriter.replace(path, with: archive, in: area, zooms: zooms)
  }

  /// True for the name of an archive, or its address, rather than of a source.
  static func isNamed(_ place: String) -> Bool {
    let path = place.prefix { $0 != "?" && $0 != "#" }.lowercased()
    return path.hasSuffix(".pmtiles") || path.hasSuffix(".mbtiles")
  }

  /// True for the path of an archive on this machine.
  static func isPath(_ place: String) -> Bool { isNamed(place) && !place.contains("://") }
}
