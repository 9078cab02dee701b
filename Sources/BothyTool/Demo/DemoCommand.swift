import ArgumentParser
import BothyStore
import BothySync
import Foundation
import Synchronization

/// `bothy demo`: shows sync step by step, with a real server and two real database files.
struct DemoCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "demo",
    abstract: "Shows two devices that write offline, meet conflicts, come back and agree.",
    discussion: """
      Starts a server on a free port of this machine and two devices with a database
      file each, in a temporary folder that is removed at the end. Ends with status
      0 only if both devices and the server hold the same. Input: a GeoJSON file, by
      default a map tile of this project's fixtures where they are at hand, else
      places that it makes itself.

      With --open it is a page to play with instead: a server, two devices with a
      list of trips, a switch for the network of each, and the inspector of each
      beside it. It prints the address of the page, and ends at Ctrl-C.

      Example:  bothy demo --features places.geojson
                bothy demo --open
      """)

  @Option(
    help: ArgumentHelp("The places to work on, a GeoJSON file.", valueName: "file"), completion: .file())
  var features: String?
  @Option(help: ArgumentHelp("Keep the files in this folder.", valueName: "folder"), completion: .directory)
  var keep: String?
  @Flag(help: "Open a page with two devices to play with.") var open = false
  @Option(help: ArgumentHelp("The port of that page; 0 lets the system choose.", valueName: "n")) var port = 0
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port is from 0 to 65535.") }
  }

  func run() async throws {
    let folder = keep ?? NSTemporaryDirectory() + "bothy-demo-\(UUIDv7.make())"
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer {
      if keep == nil { try? FileManager.default.removeItem(atPath: folder) }  // a temporary folder may stay
    }
    if open { return try await DemoPage(folder: folder, port: port, output: output).run() }
    let input = try DemoInput.load(features)
    let narrator = ProgressPrinter(quiet: output.json)
    let told = Mutex<DemoEnding?>(nil)
    // Ends at Ctrl-C as at an error, so that the folder is removed.
    try await Interrupts.running {
      let ending = try await DemoStory(input: input, folder: folder, narrator: narrator).tell()
      told.withLock { $0 = ending }
    }
    guard let ending = told.withLock({ $0 }) else { throw CancellationError() }
    if output.json {
      try output.print {
        ""
      } json: { writer in
        ending.write(to: &writer)
        writer.member("seconds", narrator.seconds)
        writer.member("source", input.source)
        writer.member("features", input.features.count)
        writer.list("steps", narrator.steps) { writer, step in
          writer.member("title", step.title)
          writer.member("seconds", step.seconds)
        }
      }
    }
    guard ending.isAgreed else {
      throw ToolError(
        "The devices and the server do not agree. Run it again with --keep and look at the files.")
    }
  }
}
