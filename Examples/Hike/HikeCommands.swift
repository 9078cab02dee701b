import Bothy
import BothyGeo
import Foundation

/// Loads the map of a walk, and shows it without a network.
@main struct HikeCommands {
  static let usage = """
    Hike FOLDER load SERVER        the region, http://127.0.0.1:8080
    Hike FOLDER walk               the places along the walk, from the folder alone
    Hike FOLDER picture FILE.png   the map
    """

  static func main() async {
    do {
      try await run(Array(CommandLine.arguments.dropFirst()))
    } catch {
      FileHandle.standardError.write(Data("\(error)\n".utf8))
      exit(1)
    }
  }

  static func run(_ words: [String]) async throws {
    guard words.count > 1, words[0] != "--help" else { return print(usage) }
    let folder = URL(filePath: words[0])
    switch (words[1], words.count) {
    case ("load", 3):
      let hike = try Hike(folder: folder, server: words[2], loader: .system)
      let region = try await hike.load()
      print(
        "\(region.name): \(region.state.rawValue), \(region.progress.done) of \(region.progress.total) tiles")
      try await hike.close()
    case ("walk", 2):
      let hike = try Hike(folder: folder, server: nowhere, loader: nil)
      for stretch in try hike.stretches() {
        let names = stretch.places.compactMap { place in
          place.feature.name.map { "\($0), \(Int(place.distance.rounded())) m away" }
        }
        print(
          "\(Int(stretch.distance.rounded())) m: \(names.isEmpty ? "nothing" : names.joined(separator: "; "))"
        )
      }
      try await hike.close()
    case ("picture", 3):
      let hike = try Hike(folder: folder, server: nowhere, loader: nil)
      let picture = try hike.picture(width: 600)
      try picture.png.write(to: URL(filePath: words[2]))
      print("\(words[2]): \(picture.width) × \(picture.height), \(hike.source.names.attribution)")
      try await hike.close()
    default: print(usage)
    }
  }

  /// The server of a folder that is read without a network.
  private static let nowhere = "http://hike.invalid"
}
