import ArgumentParser
import BothyCache
import BothyGeo
import BothyStore

/// The options that commands about one region share.
struct RegionOptions: ParsableArguments {
  @Argument(help: "The region's name.") var name: String
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions
}

/// `bothy region resume`: loads the missing tiles of a region.
struct RegionResumeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume",
    abstract: "Loads what a region lacks: after a pause, an interruption, or failures.",
    discussion: """
      Stored tiles are not requested again.

      Example:  bothy region resume Oslo
      """)

  @Option(help: ArgumentHelp("How many are got at a time.", valueName: "n")) var parallel = 4
  @OptionGroup var region: RegionOptions

  func validate() throws {
    guard (1...1024).contains(parallel) else { throw ValidationError("--parallel is 1 to 1024.") }
  }

  func run() async throws { try await region.load(isRefresh: false, parallel: parallel) }
}

/// `bothy region refresh`: checks if a region has changed.
struct RegionRefreshCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "refresh",
    abstract: "Checks each tile of a region with the server, and loads what changed.",
    discussion: """
      Tiles that the server confirms stay as they are; each stays until a newer one
      has come. An interrupted one continues with `bothy region resume`. Tiles that
      the server says are gone are kept, counted and named; --remove-gone removes
      them, except those that another region has too.

      Example:  bothy region refresh Oslo
                bothy region refresh Oslo --remove-gone
      """)

  @Option(help: ArgumentHelp("How many are got at a time.", valueName: "n")) var parallel = 4
  @Flag(help: "Let tiles go that the server says are gone.") var removeGone = false
  @OptionGroup var region: RegionOptions

  func validate() throws {
    guard (1...1024).contains(parallel) else { throw ValidationError("--parallel is 1 to 1024.") }
  }

  func run() async throws {
    try await region.load(isRefresh: true, removingGone: removeGone, parallel: parallel)
  }
}

extension RegionOptions {
  func load(isRefresh: Bool, removingGone: Bool = false, parallel: Int) async throws {
    try await store.withRegions(mayAsk: true, parallel: parallel) { regions in
      let ended = try await regions.load(
        regions.required(name), isRefresh: isRefresh, removingGone: removingGone)
      try await RegionResult(ended, of: regions).show(output, mustBeComplete: true)
    }
  }
}

/// `bothy region pause`: stops the loading of a region.
struct RegionPauseCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause",
    abstract: "Stops the loading of a region, also one that another process loads.",
    discussion: """
      That process ends within a few seconds. What comes until then is kept.

      Example:  bothy region pause Oslo
      """)

  @OptionGroup var region: RegionOptions

  func run() async throws {
    try await region.store.withRegions(mayAsk: false) { regions in
      let found = try await regions.required(region.name)
      try await regions.pause(found.id)
      try await RegionResult(regions.region(found.id), of: regions).show(
        region.output, mustBeComplete: false)
    }
  }
}

/// `bothy region delete`: deletes a region.
struct RegionDeleteCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "delete",
    abstract: "Forgets a region; what no other region holds counts against the cache's limits again.",
    discussion: """
      Tiles go when the cache needs their room, not before.

      Example:  bothy region delete Oslo
      """)

  @OptionGroup var region: RegionOptions

  func run() async throws {
    try await region.store.withRegions(mayAsk: false) { regions in
      let found = try await regions.required(region.name)
      let held = try await regions.stored(found.id)
      try await regions.delete(found.id)
      try region.output.print {
        "Deleted \(found.name); it held \(held.count) tiles, \(held.bytes) bytes."
      } json: { writer in
        writer.member("name", found.name)
        writer.member("id", found.id)
        writer.member("held", held.count)
        writer.member("bytes", held.bytes)
      }
    }
  }
}
