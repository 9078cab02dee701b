import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy tile batch`: runs many queries about tiles in one process.
struct TileBatchCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "batch",
    abstract: "Answers a question about tiles for each line of JSON it reads, in one line each.",
    discussion: """
      Each line has an "op", and what the command of that name needs:
        {"op":"locate","lat":47.6,"lon":-122.33,"zoom":16}
        {"op":"cover","lat":47.6,"lon":-122.33,"radius":500,"zoom":16}
        {"op":"cover","box":[-105,39.99,-104.99,40],"zoom":14}
        {"op":"quadkey","key":"0212300302202012"}
        {"op":"bounds","zoom":16,"x":10498,"y":22889}
      A line that can't be answered gets {"error":"…"}, and the exit status is 1.

      Example:  bothy tile batch questions.jsonl
      """)

  @Argument(help: "The file, or - for standard input.", completion: .file()) var file = "-"

  func run() async throws {
    let lines = try LineReader(file)
    var writer = JSONWriter()
    var answers: [UInt8] = []
    var failures = 0
    while let line = try lines.next() {
      writer.removeAll()
      do {
        try Self.answer(JSONValue(parsing: line), &writer)
      } catch {
        failures += 1
        writer.removeAll()
        writer.object { $0.member("error", ErrorMessage(error).sentence) }
      }
      answers += writer.bytes + [UInt8(ascii: "\n")]
      if answers.count > 1 << 16 {
        try StandardStreams.write(answers)
        answers.removeAll(keepingCapacity: true)
      }
    }
    try StandardStreams.write(answers)
    if failures > 0 {
      throw ToolError("\(failures) of \(lines.line) lines could not be answered; each says why.")
    }
  }

  private static func answer(_ question: JSONValue, _ writer: inout JSONWriter) throws {
    switch question["op"]?.stringValue {
    case "locate": write(try Tile(containing: place(question), zoom: whole(question, "zoom")), &writer)
    case "quadkey": write(try Tile(quadkey: text(question, "key")), &writer)
    case "bounds":
      let (x, y) = (try whole(question, "x"), try whole(question, "y"))
      write(try Tile(x: x, y: y, zoom: whole(question, "zoom")), &writer)
    case "cover":
      let tiles = try grid(question).tiles()
      writer.object { writer in
        writer.list("tiles", tiles) { $1.write(to: &$0, withBounds: false) }
      }
    default: throw ToolError("\"op\" must be locate, cover, quadkey or bounds.")
    }
  }

  private static func grid(_ question: JSONValue) throws -> TileGrid {
    let zoom = try whole(question, "zoom")
    guard let box = question["box"] else {
      return try TileGrid(around: place(question), radius: number(question, "radius"), zoom: zoom)
    }
    let edges = (box.arrayValue ?? []).compactMap(\.doubleValue)
    guard edges.count == 4 else { throw ToolError("\"box\" must be [west, south, east, north].") }
    return try TileGrid(
      covering: GeoBox(west: edges[0], south: edges[1], east: edges[2], north: edges[3]), zoom: zoom)
  }

  private static func write(_ tile: Tile, _ writer: inout JSONWriter) {
    writer.object { tile.write(to: &$0, withBounds: true) }
  }

  private static func place(_ question: JSONValue) throws -> Coordinate {
    Coordinate(latitude: try number(question, "lat"), longitude: try number(question, "lon"))
  }

  private static func number(_ question: JSONValue, _ name: String) throws -> Double {
    guard let number = question[name]?.doubleValue else { throw ToolError("\"\(name)\" must be a number.") }
    return number
  }

  private static func whole(_ question: JSONValue, _ name: String) throws -> Int {
    guard let number = question[name]?.intValue else {
      throw ToolError("\"\(name)\" must be a whole number.")
    }
    return Int(clamping: number)
  }

  private static func text(_ question: JSONValue, _ name: String) throws -> String {
    guard let text = question[name]?.stringValue else { throw ToolError("\"\(name)\" must be a text.") }
    return text
  }
}
