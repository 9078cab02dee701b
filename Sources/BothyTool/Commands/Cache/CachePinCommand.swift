import ArgumentParser
import BothyCache
import BothyStore

/// `bothy cache pin`: protects resources from the cache's limits.
struct CachePinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pin",
    abstract: "Keeps resources: they are not evicted, and served without a network.",
    discussion: """
      Name what to pin as for get. A resource that is not stored yet is pinned when
      it comes: this sends no request. A pin belongs to a holder, --by; a resource is
      pinned while it has a holder, with all the answers that are kept of it.
      Pinned copies do not count against the limits, and stand in for a server that
      cannot be reached although it forbids that (must-revalidate, no-cache).

      Example:  bothy cache pin osm 16/10472/22982 16/10473/22982 --by Oslo
                bothy cache get osm 16/10472/22982 16/10473/22982
                bothy cache pins
      """)

  @OptionGroup var what: PinnedWords
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard !what.words.isEmpty || what.from != nil else {
      throw ValidationError("Say what to pin: an address, or a source and a path or tile.")
    }
  }

  func run() async throws {
    let keys = try what.keys(try store.sources())
    let missing = try await store.withCache(mayAsk: false, makes: true) { cache, _ in
      try await cache.pin(keys, by: what.by)
      let asked = Set(keys)
      return try await cache.pins(by: what.by).filter { $0.bytes == nil && asked.contains($0.key) }.count
    }
    try output.print {
      "\(keys.count) pinned by \(what.by)" + (missing == 0 ? "." : "; \(missing) not stored yet.")
    } json: { writer in
      writer.member("holder", what.by)
      writer.member("pinned", keys.count)
      writer.member("missing", missing)
    }
  }
}

/// `bothy cache unpin`: applies the limits to resources again.
struct CacheUnpinCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "unpin",
    abstract: "Removes a holder's pins; copies beyond the limits are then evicted at once.",
    discussion: """
      Without anything named, nothing happens unless --all takes all the holder has.
      What another holder has pinned too stays pinned.

      Example:  bothy cache unpin osm 16/10472/22982 --by Oslo
                bothy cache unpin --all --by Oslo
      """)

  @OptionGroup var what: PinnedWords
  @Flag(help: "Take back all that the holder has pinned.") var all = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard all != (!what.words.isEmpty || what.from != nil) else {
      throw ValidationError("Say what to unpin, or --all; not both.")
    }
  }

  func run() async throws {
    let keys = all ? nil : try what.keys(try store.sources())
    let unpinned = try await store.withCache(mayAsk: false, makes: false) { cache, _ in
      let before = try await cache.pins(by: what.by).count
      try await cache.unpin(keys, by: what.by)
      return before - (try await cache.pins(by: what.by).count)
    }
    try output.print {
      "\(unpinned) unpinned by \(what.by)."
    } json: { writer in
      writer.member("holder", what.by)
      writer.member("unpinned", unpinned)
    }
  }
}

/// `bothy cache pins`: lists the pinned resources and their holders.
struct CachePinsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pins",
    abstract: "Lists the pinned resources, their holders, and whether they are stored.",
    discussion: """
      Bytes are those of all answers that are kept of a resource.

      Example:  bothy cache pins --by Oslo --json
      """)

  @Option(help: ArgumentHelp("Only what this holder has pinned.", valueName: "name")) var by: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let pins = try await store.withCache(mayAsk: false, makes: false) { cache, _ in
      try await cache.pins(by: by)
    }.sorted { ($0.holder, $0.key.description) < ($1.holder, $1.key.description) }
    try output.print {
      var table = TextTable(["holder", "resource", "bytes"])
      for pin in pins {
        table.add([pin.holder, pin.key.description, pin.bytes.map { "\($0)" } ?? "not stored"])
      }
      return table.text(empty: "Nothing is pinned.")
    } json: { writer in
      writer.list("pins", pins) { writer, pin in
        writer.member("holder", pin.holder)
        writer.member("source", pin.key.source.name)
        writer.member("path", pin.key.path)
        writer.member("bytes", pin.bytes)
      }
    }
  }
}

/// The resources to pin or unpin, and the holder.
struct PinnedWords: ParsableArguments {
  @Argument(help: "Addresses; or a source, then paths, or zoom, column and row of tiles.")
  var words: [String] = []
  @Option(
    help: ArgumentHelp("Also what each line of a file names; - for standard input.", valueName: "file"),
    completion: .file())
  var from: String?
  @Option(help: ArgumentHelp("Who holds it.", valueName: "name")) var by = "bothy"

  func keys(_ list: SourceList) throws -> [ResourceKey] {
    let asked = try AskedKeys(list)
    return try (asked.keys(words) + (try from.map { try asked.keys(inLinesOf: $0) } ?? [])).map(\.key)
  }
}
