import ArgumentParser
import BothyCache
import BothyStore
import Foundation

/// `bothy cache stat`: reports the stored size of each source.
struct CacheStatCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stat",
    abstract: "Prints entries and bytes of each source, the pinned ones, and the limits.",
    discussion: """
      Bytes are what the disk gives for the copies and their metadata. Pinned copies
      count as well, but not against the limits. Reads are those of all
      processes that have closed the cache since the folder was made. A cache of some
      megabytes holds 256 KB more, which let copies be removed on a full disk.

      Example:  bothy cache stat --store ./bothy-cache --json
      """)

  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    let (totals, counters, held, list) = try await store.withCache(mayAsk: false, makes: false) {
      cache, list in
      (try await cache.totals(), cache.allCounters, cache.heldRoom, list)
    }
    let rows = totals.filter { $0.value.count > 0 }.sorted { $0.key.name < $1.key.name }
    let sum = rows.reduce(into: ResourceCache.Totals()) { sum, row in
      sum.count += row.value.count
      sum.bytes += row.value.bytes
      sum.pinnedCount += row.value.pinnedCount
      sum.pinnedBytes += row.value.pinnedBytes
    }
    let limits = list.diskLimits
    let counted = counters.values.reduce(CacheCounters(), +)
    try output.print {
      var table = TextTable(["source", "entries", "bytes", "pinned", "pinned bytes"])
      for row in rows { table.add([row.key.name] + row.value.cells) }
      table.add(["all"] + sum.cells)
      let most = { (number: String?) in number ?? "no limit" }
      return table.text(empty: "")
        + "\nLimits: \(most(limits.bytes.map { "\($0) bytes" })), \(most(limits.count.map { "\($0) entries" }))"
        + (held > 0 ? "\nHeld:   \(held) bytes, to remove copies on a full disk" : "")
        + "\nReads:  \(counted.text)"
    } json: { writer in
      writer.list("sources", rows) { writer, row in
        writer.member("id", row.key.name)
        row.value.write(to: &writer)
        writer.object("counters") { (counters[row.key] ?? CacheCounters()).writeMembers(to: &$0) }
      }
      writer.object("counters") { counted.writeMembers(to: &$0) }
      sum.write(to: &writer)
      writer.member("heldRoom", held)
      limits.write(to: &writer)
    }
  }
}

/// `bothy cache limits`: shows or sets the limits of the cache.
struct CacheLimitsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limits",
    abstract: "Sets how much is kept, and makes room at once if it is more.",
    discussion: """
      Sizes are bytes, or numbers with K, M or G (1024 each). Copies unused for
      longest are evicted first; pinned ones stay and do not count. Without options
      the limits are printed. One that is not given is left as it is; none lifts it.

      Example:  bothy cache limits --bytes 2G --entries none
      """)

  @Option(help: ArgumentHelp("The most bytes, or none.", valueName: "size")) var bytes: String?
  @Option(help: ArgumentHelp("The most entries, or none.", valueName: "n")) var entries: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    var limits = try store.sources().diskLimits
    if let bytes {
      limits.bytes = bytes == "none" ? nil : try Self.number(bytes, "--bytes")
    }
    if let entries {
      limits.count = entries == "none" ? nil : Int(try Self.number(entries, "--entries"))
      if limits.count == 0 { throw ValidationError("--entries is 1 at least, or none.") }
    }
    let new = limits
    if bytes != nil || entries != nil {
      // Lower limits make the room that the list may need on a full disk.
      try await store.withCache(mayAsk: false, makes: true) { cache, _ in try await cache.setDiskLimits(new) }
      try SourceList.change(folder: store.folder) { list in
        list.limits = SourceList.Limits(bytes: new.bytes, entries: new.count)
      }
    }
    try output.print {
      "Bytes:    \(new.bytes.map { "\($0)" } ?? "no limit")\nEntries:  \(new.count.map { "\($0)" } ?? "no limit")"
    } json: {
      new.write(to: &$0)
    }
  }

  private static func number(_ text: String, _ option: String) throws -> Int64 {
    let units: [Character: Int64] = ["K": 1 << 10, "M": 1 << 20, "G": 1 << 30]
    let unit = text.last.flatMap { units[$0] }
    let digits = unit == nil ? text[...] : text.dropLast()
    guard let number = Int64(digits), number >= 0, number < 1 << 32 || unit == nil else {
      throw ValidationError("\(option) is a number such as 500M, or none; not '\(text)'.")
    }
    return number * (unit ?? 1)
  }
}

extension ResourceCache.Totals {
  fileprivate var cells: [String] { ["\(count)", "\(bytes)", "\(pinnedCount)", "\(pinnedBytes)"] }

  fileprivate func write(to writer: inout JSONWriter) {
    writer.member("entries", count)
    writer.member("bytes", bytes)
    writer.member("pinned", pinnedCount)
    writer.member("pinnedBytes", pinnedBytes)
  }
}

extension CacheCounters {
  fileprivate var text: String {
    guard reads > 0 else { return "none yet" }
    let share = { (count: Int) in "\(count) (\(count * 100 / reads) %)" }
    return "\(share(memoryHits)) from memory, \(share(diskHits)) from disk, \(share(misses)) found nothing"
  }
}

extension DiskCache.Limits {
  fileprivate func write(to writer: inout JSONWriter) {
    writer.object("limits") { writer in
      writer.member("bytes", bytes)
      writer.member("entries", count)
    }
  }
}
