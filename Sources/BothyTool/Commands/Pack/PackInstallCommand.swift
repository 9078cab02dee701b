import ArgumentParser
import BothyCache
import BothyPacks
import BothyStore
import Foundation

/// `bothy pack install`: replaces the installed pack, completely or not at all.
struct PackInstallCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "install",
    abstract: "Installs a pack from a folder or an address, in place of its version before.",
    discussion: """
      Every byte is checked before one link is replaced; readers of the old
      version keep it. Files that the version before has are not copied or loaded
      again. Downloads use the cache in --store.

      Example:  bothy pack install packs/times times.pack
                bothy pack install packs/times https://example.org/packs/times/
      """)

  @Argument(help: "The folder that the pack is installed in.", completion: .directory) var folder: String
  @Argument(help: "The folder of the pack, or its address.", completion: .directory) var pack: String
  @Option(
    help: ArgumentHelp("Types that it must have, as a schema document.", valueName: "file"),
    completion: .file())
  var schema: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let expected = try schema.map { try StoreSchema(json: StandardStreams.read($0)) }
    let packs = PackStore(at: URL(filePath: folder))
    let line = ProgressLine()
    let progress: @Sendable (Int, Int) -> Void = { line.show("\($0) of \($1) files") }
    defer { line.clear() }
    let done: PackInstallation
    if pack.hasPrefix("http://") || pack.hasPrefix("https://") {
      let source = try ResourceSource(
        SourceID("pack " + pack), template: pack, userAgent: SourceRecord.defaultUserAgent)
      done = try await store.withCache(mayAsk: true, makes: true) { cache, _ in
        try await packs.install(from: source, through: cache, expecting: expected, progress: progress)
      }
    } else {
      done = try await packs.install(from: URL(filePath: pack), expecting: expected, progress: progress)
    }
    line.clear()
    try output.print {
      done.isNew
        ? "Installed \(done.name) \(done.version): \(done.fetched) files new, \(done.reused) as before."
        : "\(done.name) \(done.version) is installed already, and is as it should be."
    } json: { writer in
      writer.member("name", done.name)
      writer.member("version", done.version)
      writer.member("new", done.isNew)
      writer.member("fetched", done.fetched)
      writer.member("reused", done.reused)
    }
  }
}
