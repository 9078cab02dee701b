import ArgumentParser
import BothyCache
import BothyStore

/// `bothy cache verify`: reads every copy and compares it with its checksum.
struct CacheVerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Checks every copy; removes damaged ones and fails if there were any.",
    discussion: """
      A removed copy is fetched again when it is next requested; a region that
      lost tiles is damaged, and `bothy region resume` loads them. Damage is found
      at every read too, and pinned copies are read every 30 days; this reads all.

      Example:  bothy cache verify --store ./bothy-cache --json
      """)

  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let report = try await store.withCache(mayAsk: false, makes: false) { cache, _ in
      let total = try await cache.totals().values.reduce(0) { $0 + $1.count }
      let line = ProgressLine()
      defer { line.clear() }
      return try await cache.verify { line.show("\($0) of \(total) checked") }
    }
    let damaged = report.damaged.sorted { $0.description < $1.description }
    try output.print {
      (damaged.map { "damaged  \($0)" } + ["\(report.checked) checked, \(damaged.count) damaged"])
        .joined(separator: "\n")
    } json: { writer in
      writer.member("checked", report.checked)
      writer.list("damaged", damaged) { writer, key in
        writer.member("source", key.source.name)
        writer.member("path", key.path)
      }
    }
    if !damaged.isEmpty {
      throw ToolError("\(damaged.count) of \(report.checked) were damaged and removed; get them again.")
    }
  }
}

/// `bothy cache gc`: deletes files that no entry names.
struct CacheGarbageCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc",
    abstract: "Removes files that belong to no entry, and counts the kept ones again.",
    discussion: """
      That is what killed processes left behind, and databases that were damaged and
      replaced. Everything still of use stays. With --expired copies that are past
      their time are removed too, except pinned ones.

      Example:  bothy cache gc --store ./bothy-cache
      """)

  @Flag(help: "Also remove copies that are no longer fresh.") var expired = false
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let (report, removed) = try await store.withCache(mayAsk: false, makes: false) { cache, _ in
      try cache.register(SourceRecord.ofAddresses())
      let removed = expired ? try await cache.removeExpired() : 0
      return (try await cache.collectGarbage(), removed)
    }
    try output.print {
      "Removed \(report.removedFiles) files, \(report.freedBytes) bytes"
        + (expired ? ", and \(removed) expired copies." : ".")
    } json: { writer in
      writer.member("removedFiles", report.removedFiles)
      writer.member("freedBytes", report.freedBytes)
      writer.member("expired", removed)
    }
  }
}
