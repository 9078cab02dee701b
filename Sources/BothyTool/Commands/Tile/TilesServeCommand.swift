import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy tiles serve`: gives a renderer on this machine a style with all that it names.
struct TilesServeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "serve",
    abstract:
      "Gives a renderer on this machine a style with its tiles, glyphs and sprites, until interrupted.",
    discussion: """
      Prints the address of the style when it is ready. All that the style names has
      an address there, and is answered from the cache: from its regions, from what
      was looked at, and from the network, unless --offline. Only this machine can
      connect, and the address has a part that can't be guessed: give it to the
      renderer alone.

      --page serves the files of a folder beside the style, such as a page that draws
      it. Examples/MapPage is one.

      Example:  bothy source add outdoors https://maps.example.org/style.json --style
                bothy tiles serve outdoors --page Examples/MapPage
      """)

  @Argument(help: "The source of a style.") var source: String
  @Option(help: ArgumentHelp("The port; 0 lets the system choose.", valueName: "port")) var port = 0
  @Flag(help: "Send no requests: serve what is stored.") var offline = false
  @Option(help: ArgumentHelp("A folder of files to serve too.", valueName: "dir"), completion: .directory)
  var page: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard (0...65_535).contains(port) else { throw ValidationError("--port is a port from 0 to 65535.") }
  }

  func run() async throws {
    let pages = try page.map(Self.pages) ?? [:]
    let (source, port, output) = (source, port, output)
    try await store.withCache(mayAsk: !offline, makes: !offline) { cache, list in
      guard let record = list[source] else { throw SourceList.unknown(source, list) }
      guard record.isStyle else {
        throw ToolError("The source '\(source)' isn't a style. Add one with `bothy source add --style`.")
      }
      let style = try await MapStyle(at: record.template, of: SourceID(source), in: cache)
      let endpoint = MapEndpoint(style, in: cache, pages: pages)
      try await Interrupts.running {
        let url = try endpoint.start(port: port).absoluteString
        let page = pages.isEmpty ? nil : url.replacing("/style.json", with: "/index.html")
        try output.print {
          "Serving \(source) on \(page ?? url)"
        } json: { writer in
          writer.member("url", url)
          writer.member("page", page)
        }
        // Until a signal cancels this task.
        while true { try await Task.sleep(for: .seconds(3600)) }
      }
      endpoint.stop()
    }
  }

  private static let types = [
    "html": "text/html; charset=utf-8", "js": "text/javascript", "css": "text/css", "svg": "image/svg+xml",
    "png": "image/png", "json": "application/json",
  ]

  /// Returns the files of a folder by their names. Files of other kinds are left out, and those in other folders.
  private static func pages(_ folder: String) throws -> [String: MapEndpoint.Page] {
    var pages: [String: MapEndpoint.Page] = [:]
    for name in try FileManager.default.contentsOfDirectory(atPath: folder).sorted()
    where !name.hasPrefix(".") {
      guard let type = types[URL(filePath: name).pathExtension.lowercased()] else { continue }
      pages[name] = MapEndpoint.Page(type: type, bytes: Data(try StandardStreams.read("\(folder)/\(name)")))
    }
    guard pages["index.html"] != nil else { throw ToolError("\(folder) has no index.html.") }
    return pages
  }
}
