import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore
import Foundation

/// `bothy source`: manages the sources of a cache.
struct SourceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "source",
    abstract: "Keeps the list of a cache's sources: their addresses, freshness and attribution.",
    discussion: """
      Example:  bothy source add osm 'https://{s}.example.org/{z}/{x}/{y}.png' \\
                  --host a --host b --freshness 7d --zooms 0-19 \\
                  --attribution '© OpenStreetMap contributors'
                bothy source list
                bothy source remove osm
      """,
    subcommands: [
      SourceAddCommand.self, SourceListCommand.self, SourceRemoveCommand.self, SourceTermsCommand.self,
    ])
}

/// `bothy source list`: lists the sources without their secrets.
struct SourceListCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list",
    abstract: "Prints the sources, by id.",
    discussion: """
      Of secrets and headers the names alone are printed.

      Example:  bothy source list --store ./bothy-cache --json
      """)

  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let list = try store.sources()
    try output.print {
      var table = TextTable(
        ["id", "address", "freshness", "zooms", "bulk", "attribution"], whole: ["id", "address"])
      for source in list.sources {
        table.add([
          source.id, source.template, source.freshness.text,
          "\(source.minzoom ?? 0)-\(source.maxzoom ?? 22)",
          source.allowsBulkDownload ? "yes" : "no", source.attribution,
        ])
      }
      return table.text(empty: "No sources. Add one with `bothy source add`.")
    } json: { writer in
      writer.list("sources", list.sources) { $1.write(to: &$0) }
    }
  }
}

/// `bothy source remove`: deletes a source and its stored resources.
struct SourceRemoveCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove",
    abstract: "Takes a source off the list and removes its copies.",
    discussion: """
      Copies that regions need are removed with --from-regions alone. The regions are
      damaged then, and can be loaded again when a source gets the id.

      Example:  bothy source remove osm
      """)

  @Argument(help: "The id of the source.") var id: String
  @Flag(help: "Leave the copies; they are used again when a source with the same address gets the id.")
  var keepCopies = false
  @Flag(help: "Remove the copies that regions need too.") var fromRegions = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let list = try store.sources()
    guard list[id] != nil else { throw SourceList.unknown(id, list) }
    if !keepCopies, !fromRegions { try await refuseIfNeeded() }
    var removed = 0
    if !keepCopies, store.hasIndex {
      removed = try await store.withCache(mayAsk: false, makes: false) { cache, _ in
        let totals = try await cache.totals()
        var sources = totals.keys.filter { $0.name == id }
        if list[id]?.isStyle ?? false {
          let others = list.sources.filter { $0.id != id }.map { SourceID($0.id) }
          sources += MapClosure.parts(of: SourceID(id), among: totals.keys, beside: others)
        }
        for source in sources { try await cache.removeAll(source) }
        return sources.reduce(0) { $0 + (totals[$1]?.count ?? 0) }
      }
    }
    try SourceList.change(folder: store.folder) { list in list.sources.removeAll { $0.id == id } }
    try output.print {
      "Removed \(id)\(keepCopies ? "; its copies stay" : " and \(removed) copies")."
    } json: { writer in
      writer.member("id", id)
      writer.member("removed", removed)
    }
  }
}

extension SourceRemoveCommand {
  /// Throws an error with the names of the regions of the source, if there are any.
  private func refuseIfNeeded() async throws {
    // Only a folder with regions has this list. Another doesn't get one.
    guard FileManager.default.fileExists(atPath: store.folder + "/regions.sqlite") else { return }
    let names = try await store.withRegions(mayAsk: false) { regions in
      try await regions.all().filter { $0.plan.source.name == id && $0.state != .waiting }.map(\.name)
    }
    guard !names.isEmpty else { return }
    throw ToolError(
      "The source '\(id)' has the tiles of regions: \(names.joined(separator: ", ")). Delete them with `bothy region "
        + "delete`, keep the copies with --keep-copies, or give --from-regions.")
  }
}

extension SourceList {
  /// Returns a source of the cache: one of the list, or one that a style of the list names, such as
  /// `outdoors/openmaptiles`. That is known once the style was read.
  func source(_ id: String, in cache: ResourceCache) async throws -> ResourceSource {
    let styles = sources.filter { $0.isStyle && MapClosure.isPart(SourceID(id), of: SourceID($0.id)) }
    // A style's id may begin like that of another one.
    if let style = styles.max(by: { $0.id.count < $1.id.count }) {
      _ = try await MapStyle(at: style.template, of: SourceID(style.id), in: cache)
    }
    guard let source = cache.source(SourceID(id)) else { throw Self.unknown(id, self) }
    return source
  }

  /// Returns the error for an unknown id, which lists the existing sources.
  static func unknown(_ id: String, _ list: SourceList) -> ToolError {
    let known = list.sources.map(\.id).joined(separator: ", ")
    return ToolError(
      "The source '\(id)' does not exist. Known: \(known.isEmpty ? "none" : known). Add one with `bothy source add`, "
        + "or give a whole address.")
  }
}

extension SourceRecord {
  /// Writes all public properties of a source.
  func write(to writer: inout JSONWriter) {
    writer.member("id", id)
    writer.member("template", template)
    writer.names("hosts", hosts)
    writer.object("freshness") { writer in
      writer.member("rule", freshness.rule)
      writer.member("min", freshness.min)
      writer.member("max", freshness.max)
      writer.member("otherwise", freshness.otherwise)
      writer.member("negative", freshness.negative)
      writer.member("stale", freshness.stale)
      writer.member("stamp", freshness.stamp)
    }
    writer.member("minzoom", minzoom ?? 0)
    writer.member("maxzoom", maxzoom ?? 22)
    writer.member("name", name)
    writer.member("attribution", attribution)
    writer.member("allowsBulkDownload", allowsBulkDownload)
    writer.member("userAgent", userAgent ?? Self.defaultUserAgent)
    writer.names("headers", headers.map(\.name))
    writer.names("secrets", secrets.keys.sorted())
    writer.names("ignoredQueryItems", ignoredQueryItems)
    writer.member("isStyle", isStyle)
  }
}
