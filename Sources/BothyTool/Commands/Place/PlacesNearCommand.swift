import ArgumentParser
import BothyGeo
import BothyStore

/// `bothy places near`: finds the places around a position.
struct PlacesNearCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "near",
    abstract: "Prints the places near a position, the nearest first.",
    discussion: """
      Distances go to the closest point of a shape or the closest entrance; within an
      area they are 0. Without --radius it looks as far as it takes to find as many
      as --limit says.

      Example:  bothy places near oslo.places --lat 59.91 --lon 10.75 --limit 5
                bothy places near oslo.places --lat 59.91 --lon 10.75 --radius 200 \\
                  --category mobility
      """)

  @OptionGroup var places: PlacesFile
  @OptionGroup var position: PositionOptions
  @Option(parsing: .unconditional, help: ArgumentHelp("No farther than this.", valueName: "metres"))
  var radius: Double?
  @Option(help: ArgumentHelp("The most to print; by default 20, or all within --radius.", valueName: "n"))
  var limit: Int?
  @Option(help: ArgumentHelp("Print names in a language such as fr, where there are any.", valueName: "code"))
  var language: String?
  @OptionGroup var filter: PlaceFilterOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard limit ?? 1 > 0 else { throw ValidationError("--limit is a whole number above 0.") }
    _ = try filter.filter()
  }

  func run() async throws {
    let center = position.coordinate
    let found = try await places.withPlaces { places in
      guard let radius else { return try places.nearest(limit ?? 20, to: center, filter.filter()) }
      return Array(try places.within(radius: radius, of: center, filter.filter()).prefix(limit ?? .max))
    }
    try PlaceList.print(found, language, output)
  }
}

/// `bothy places in`: finds the places in a box.
struct PlacesInCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "in",
    abstract: "Prints what has its middle in a box.",
    discussion: """
      A box extends east from its west, so one whose west is greater than its east
      crosses the antimeridian.

      Example:  bothy places in oslo.places --box 10.74,59.90,10.76,59.92 \\
                  --category landmark
      """)

  @OptionGroup var places: PlacesFile
  @Option(
    parsing: .unconditional, help: ArgumentHelp("west,south,east,north.", valueName: "degrees"))
  var box: String
  @Option(help: ArgumentHelp("Print names in a language such as fr, where there are any.", valueName: "code"))
  var language: String?
  @OptionGroup var filter: PlaceFilterOptions
  @OptionGroup var output: OutputOptions

  func validate() throws { _ = try filter.filter() }

  func run() async throws {
    let box = try TileCoverCommand.box(box)
    let found = try await places.withPlaces { try $0.in(box: box, filter.filter()) }
    try PlaceList.print(found, language, output)
  }
}
