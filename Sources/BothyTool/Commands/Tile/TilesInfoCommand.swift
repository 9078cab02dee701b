import ArgumentParser
import BothyGeo
import BothyStore
import Foundation

/// `bothy tiles info`: prints and optionally verifies the metadata of an archive.
struct TilesInfoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "info",
    abstract: "Prints what an archive holds.",
    discussion: """
      --check reads and unpacks every tile, counts them and their different
      contents, and fails where one is cut off, zeroed or of another kind.

      Example:  bothy tiles info hills.pmtiles --check --json
                bothy tiles info http://localhost:8080/tiles/hills.pmtiles
      """)

  @Argument(help: "An MBTiles or PMTiles file, or the address of a PMTiles file.", completion: .file())
  var file: String
  @Flag(help: "Read every tile.") var check = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let archive = try await ReadArchive.open(file)
    let counts = check ? try await archive.check() : nil
    let info = try archive.counted()
    try output.print {
      Self.text(info, counts)
    } json: { writer in
      writer.member("container", info.container.rawValue)
      writer.member("name", info.name)
      writer.member("attribution", info.attribution)
      writer.member("format", info.tileFormat)
      writer.member("compression", info.tileCompression.rawValue)
      writer.member("minzoom", info.zooms?.lowest)
      writer.member("maxzoom", info.zooms?.highest)
      writer.key("bounds")
      writer.beginArray()
      for edge in [info.bounds.west, info.bounds.south, info.bounds.east, info.bounds.north] {
        writer.value(edge)
      }
      writer.endArray()
      writer.member("tiles", counts?.tiles ?? info.tileCount)
      writer.member("contents", counts?.contents ?? info.contentCount)
      writer.member("checked", check)
    }
  }

  private static func text(_ info: TileArchiveInfo, _ counts: TileArchiveCheck?) -> String {
    let box = info.bounds
    let number = { (number: Int?) in number.map(String.init) ?? "unknown" }
    return [
      "Archive:      \(info.container.rawValue), \(info.name ?? "without a name")",
      "Tiles:        \(number(counts?.tiles ?? info.tileCount)), "
        + "\(number(counts?.contents ?? info.contentCount)) different\(counts == nil ? "" : ", all read")",
      "Format:       \(info.tileFormat ?? "unknown"), packed: \(info.tileCompression.rawValue)",
      "Zooms:        " + (info.zooms.map { "\($0.lowest) to \($0.highest)" } ?? "unknown"),
      "Bounds:       west \(box.west), south \(box.south), east \(box.east), north \(box.north)",
      "Attribution:  \(info.attribution ?? "none")",
    ].joined(separator: "\n")
  }
}
