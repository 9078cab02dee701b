import ArgumentParser

/// `bothy places`: finds nearby places from tiles in GeoJSON.
struct PlacesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "places",
    abstract: "Keeps the places, roads and crossings of tiles in a file, and finds them.",
    discussion: """
      A file of places is made by `load`. It holds each place once, from however many
      tiles it came, and everything in it can be loaded again: do not put data of
      your own into it.

      Example:  bothy places load oslo.places tiles/*.json
                bothy places load oslo.places --source walks --lat 59.91 --lon 10.75
                bothy places near oslo.places --lat 59.91 --lon 10.75 --limit 5
                bothy places search oslo.places "cafe"
                bothy places road oslo.places "Karl Johans gate"
                bothy places map oslo.places --lat 59.91 --lon 10.75 \\
                  --output oslo.svg
      """,
    subcommands: [
      PlacesLoadCommand.self, PlacesNearCommand.self, PlacesInCommand.self, PlacesRoadCommand.self,
      PlacesSearchCommand.self, PlacesGetCommand.self, PlacesMapCommand.self,
    ])
}
