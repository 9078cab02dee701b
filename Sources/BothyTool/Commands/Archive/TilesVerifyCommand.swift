import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tiles verify`: reads every tile of archives.
struct TilesVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Reads and unpacks every tile of archives; fails where one is damaged.",
    discussion: """
      An archive is damaged if it was cut off, if its directories contradict each
      other, or if a tile is zeroed, can't be unpacked or is of another kind than the
      archive says. Tiles packed with Brotli or Zstandard are read and not unpacked.
      What a file made to harm claims is refused in bounded time and memory.

      Example:  bothy tiles verify hills.pmtiles walks.mbtiles
                bothy tiles verify https://tiles.example.org/hills.pmtiles --json
      """)

  @Argument(help: "MBTiles or PMTiles files, or addresses of PMTiles files.", completion: .file())
  var files: [String]
  @OptionGroup var output: OutputOptions

  private struct Verdict {
    var file: String
    var counts: TileArchiveCheck?
    var problem: String?
  }

  func run() async throws {
    var verdicts: [Verdict] = []
    for file in files {
      do {
        let counts = try await ReadArchive.open(file).check()
        verdicts.append(Verdict(file: file, counts: counts))
      } catch let error as BothyError {
        verdicts.append(Verdict(file: file, problem: error.message))
      }
    }
    let damaged = verdicts.compactMap(\.problem)
    try output.print {
      verdicts.map { verdict in
        let counts = verdict.counts.map { "\($0.tiles) tiles, \($0.contents) different, all read" }
        return "\(verdict.file): \(counts ?? verdict.problem ?? "")"
      }.joined(separator: "\n")
    } json: { writer in
      writer.list("archives", verdicts) { writer, verdict in
        writer.member("file", verdict.file)
        writer.member("tiles", verdict.counts?.tiles)
        writer.member("contents", verdict.counts?.contents)
        writer.member("problem", verdict.problem)
      }
    }
    if let first = damaged.first {
      throw ToolError(
        damaged.count == 1 ? first : "\(damaged.count) archives are damaged, one of them: \(first)")
    }
  }
}
