import ArgumentParser
import BothyCache
import BothyGeo
import Foundation

/// `bothy source add`: adds a source to a cache.
struct SourceAddCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "add",
    abstract: "Makes a source known: an address, and what holds for what it brings.",
    discussion: """
      The address has places for a tile, {z} {x} {y} ({-y} counts rows from south,
      {q} is the quadkey), {s} for one of the hosts, {r} for @2x; without any of
      them it is one below which paths are looked up. Times are numbers with w, d,
      h, m, s.

      An archive is a source too: the path of an MBTiles or PMTiles file, which is
      read in place, or the address of a PMTiles file, which is read by parts. Their
      names end in .mbtiles and .pmtiles.

      With --style the address is that of a style of MapLibre. Its sources of tiles
      are sources too, called by the id, a slash and their name in the style.

      A secret is a query item that every request carries and no key, list or log
      shows; '@' and a file's name keeps it out of the shell's history too.

      Example:  bothy source add osm 'https://{s}.example.org/{z}/{x}/{y}.png' \\
                  --host a --host b --freshness 7d --attribution '© OpenStreetMap'
                bothy source add api https://api.example.org/v1 --min 1h --max 30d \\
                  --secret token=@token.txt --header 'Accept-Language: de'
                bothy source add hills https://tiles.example.org/hills.pmtiles
                bothy source add outdoors https://maps.example.org/style.json --style
      """)

  @Argument(help: "A name for the source, kept for ever: copies are found again by it.") var id: String
  @Argument(help: "The address, with places for tiles or without.") var template: String
  @Option(name: .customLong("host"), help: "A value for {s}, or another server with the same bytes.")
  var hosts: [String] = []
  @Option(help: "http (as the server says), manual, immutable, or a time such as 7d.") var freshness = "http"
  @Option(help: ArgumentHelp("Fresh at least this long, under http.", valueName: "time")) var min: String?
  @Option(help: ArgumentHelp("Fresh at most this long, under http.", valueName: "time")) var max: String?
  @Option(help: ArgumentHelp("Fresh this long when the server says nothing.", valueName: "time"))
  var otherwise: String?
  @Option(help: ArgumentHelp("How long a 404 is remembered.", valueName: "time")) var negative: String?
  @Option(help: "Whether stale copies are served when a server fails: always, never, or a time.")
  var stale: String?
  @Option(help: "What a fixed time is counted from: receipt or lastModified.") var stamp: String?
  @Option(help: ArgumentHelp("The zooms that have tiles.", valueName: "low-high")) var zooms: String?
  @Option(help: "What the source is called.") var name = ""
  @Option(help: "What its owner wants to be shown beside the map.") var attribution = ""
  @Flag(help: "The owner allows to load regions in bulk.") var allowBulk = false
  @Flag(help: "{r} is @2x.") var highResolution = false
  @Flag(help: "The address is that of a style: the source has all that the style names.") var style = false
  @Option(name: .customLong("header"), help: "\"Name: value\", sent with every request.")
  var headers: [String] = []
  @Option(help: "How requests name the app; map servers want an app's name and how to reach its maker.")
  var userAgent: String?
  @Option(name: .customLong("secret"), help: ArgumentHelp("A query item.", valueName: "name=value"))
  var secrets: [String] = []
  @Option(name: .customLong("ignore"), help: "A query item that does not say what the resource is.")
  var ignored: [String] = []
  @Flag(help: "Change the source if the id is known.") var replace = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let record = try record()
    if ArchiveFile.isPath(template) {
      _ = try await TileArchives.open(path: record.template)  // throws for a file that is none
    }
    _ = try record.source()  // throws for invalid options
    if let terms = record.terms {
      if allowBulk { try ProviderTerms.checkBulk(terms.hosts.prefix(1)) }
      StandardStreams.note("\(terms.name): \(terms.remark) See \(terms.page)")
    }
    try SourceList.change(folder: store.folder) { list in
      if let known = list[id] {
        guard replace else {
          throw ToolError("Source \(id) is known. Change it with --replace, or choose another id.")
        }
        guard known.hasSameResources(as: record) else {
          throw ToolError(
            "Source \(id) has another address, and copies of it. Remove it first: `bothy source remove \(id)`."
          )
        }
      }
      list.sources.removeAll { $0.id == id }
      list.sources.append(record)
    }
    try output.print {
      "Added \(id): \(record.template), fresh by \(record.freshness.text)."
    } json: {
      record.write(to: &$0)
    }
  }

  private func record() throws -> SourceRecord {
    // The file of an archive is found from any folder.
    let address = ArchiveFile.isPath(template) ? URL(filePath: template).standardizedFileURL.path : template
    var record = SourceRecord(id: id, template: address)
    record.hosts = hosts
    record.highResolution = highResolution
    record.freshness = FreshnessRecord(
      rule: freshness, min: min, max: max, otherwise: otherwise, negative: negative, stale: stale,
      stamp: stamp)
    if let zooms {
      let ends = zooms.split(separator: "-", omittingEmptySubsequences: false).map { Int($0) }
      guard ends.count == 2, let low = ends[0], let high = ends[1] else {
        throw ValidationError("--zooms is low-high: 0-19.")
      }
      (record.minzoom, record.maxzoom) = (low, high)
    }
    record.name = name
    record.attribution = attribution
    record.allowsBulkDownload = allowBulk
    record.userAgent = userAgent
    record.headers = try headers.map { text in
      guard let colon = text.firstIndex(of: ":") else {
        throw ValidationError("--header is \"Name: value\".")
      }
      let value = text[text.index(after: colon)...].drop { $0 == " " }
      return SourceRecord.Header(name: String(text[..<colon]), value: String(value))
    }
    for text in secrets {
      guard let sign = text.firstIndex(of: "="), sign > text.startIndex else {
        throw ValidationError("--secret is name=value, or name=@file.")
      }
      record.secrets[String(text[..<sign])] = try Self.secret(text[text.index(after: sign)...])
    }
    record.ignoredQueryItems = ignored
    record.isStyle = style
    return record
  }

  private static func secret(_ text: Substring) throws -> String {
    guard text.hasPrefix("@") else { return String(text) }
    let bytes = try StandardStreams.read(String(text.dropFirst()))
    return String(decoding: bytes, as: UTF8.self).trimmingCharacters(in: .whitespacesAndNewlines)
  }
}
