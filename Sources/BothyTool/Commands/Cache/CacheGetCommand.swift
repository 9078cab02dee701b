import ArgumentParser
import BothyCache
import BothyStore
import Foundation

/// `bothy cache get`: reads resources from the cache or the network.
struct CacheGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Gets resources and says where they came from, whether they are fresh, and how old.",
    discussion: """
      Name addresses, or a source and its paths, or a source and its tiles (zoom,
      column and row of each). The answer says where a resource came from: network,
      disk, or confirmed (the server said that the copy is still good). A stale copy
      is past its time and could not be confirmed: it is served, and marked. What
      comes from the network is kept.

      --policy  localElseRemote  the copy here if it is fresh, else the network
                local            the copy here, also if it is stale
                remoteElseLocal  the network, or the copy here if it does not answer
                remote           the network, or an error
                localThenRemote  the copy here, then the network; prints the last

      Exit status 1 when something could not be had, or does not exist.

      Example:  bothy cache get https://tiles.example.org/16/10472/22982.png
                bothy cache get osm 16 10472 22982 --policy local --json
                bothy cache get osm 16/10472/22982 16/10473/22982 --parallel 4
                bothy cache get --from tiles.txt
      """)

  @OptionGroup var request: CacheRequest

  func run() async throws { try await request.run() }
}

/// `bothy tile get`: reads a tile of a source from the cache or the network.
struct TileGetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "get",
    abstract: "Gets tiles of a source, as `bothy cache get` does.",
    discussion: """
      Example:  bothy source add osm 'https://tiles.example.org/{z}/{x}/{y}.png'
                bothy tile get osm 16 10472 22982 --output tile.png
      """)

  @OptionGroup var request: CacheRequest

  func run() async throws { try await request.run() }
}

/// The options that both commands share: the resources, and the way to read them.
struct CacheRequest: ParsableArguments {
  @Argument(help: "Addresses; or a source, then paths, or zoom, column and row of tiles.")
  var what: [String] = []
  @Option(
    help: ArgumentHelp("Also what each line of a file names; - for standard input.", valueName: "file"),
    completion: .file())
  var from: String?
  @Option(name: [.long, .customLong("mode", withSingleDash: false)], help: "Where the answer comes from.")
  var policy = ReadPolicy.localElseRemote
  @Flag(help: "Download again, without asking whether the copy here is current.") var reload = false
  @Option(help: ArgumentHelp("How many are got at a time.", valueName: "n")) var parallel = 8
  @Option(
    name: [.long, .customShort("o")],
    help: ArgumentHelp(
      "Write the bytes of one resource to a file; - for standard output.", valueName: "file"),
    completion: .file())
  var output: String?
  @OptionGroup var store: CacheStoreOptions
  @OptionGroup var options: OutputOptions

  func validate() throws {
    guard !what.isEmpty || from != nil else {
      throw ValidationError("Say what to get: an address, or a source and a path or tile.")
    }
    guard (1...1024).contains(parallel) else { throw ValidationError("--parallel is 1 to 1024.") }
  }

  func run() async throws {
    let asked = try AskedKeys(try store.sources())
    let keys = try asked.keys(what) + (try from.map { try asked.keys(inLinesOf: $0) } ?? [])
    if output != nil, keys.count != 1 {
      throw ValidationError("--output takes the bytes of one resource, not of \(keys.count).")
    }
    let results = try await store.withCache(mayAsk: true, makes: true) { cache, _ in
      try cache.register(SourceRecord.ofAddresses())
      return try await get(keys, from: cache)
    }
    if let output, let bytes = results.first?.resource?.bytes { try write(bytes, to: output) }
    try show(results)
    let failures = results.compactMap(\.failure)
    guard let first = failures.first else { return }
    for failure in failures.dropFirst().prefix(20) { StandardStreams.note("bothy: \(failure)") }
    throw ToolError(
      failures.count == 1 ? first : "\(failures.count) of \(results.count) failed; first: \(first)")
  }

  /// Reads all keys in their order, with a limited number at a time. Memory has the bytes of one only.
  private func get(_ keys: [AskedKey], from cache: ResourceCache) async throws -> [GetResult] {
    let line = ProgressLine()
    let options = reload ? .reload : ResourceCache.Options(policy: policy)
    defer { line.clear() }
    var results = [GetResult?](repeating: nil, count: keys.count)
    await withTaskGroup(of: (Int, GetResult).self) { group in
      var next = 0
      var done = 0
      func begin() {
        guard next < keys.count else { return }
        let (index, asked) = (next, keys[next])
        next += 1
        group.addTask {
          (index, await GetResult.of(asked, options, cache, holdsBytes: keys.count == 1))
        }
      }
      for _ in 0..<min(parallel, keys.count) { begin() }
      for await (index, result) in group {
        results[index] = result
        done += 1
        if keys.count > 1 { line.show("\(done) of \(keys.count)") }
        begin()
      }
    }
    return results.compactMap { $0 }
  }

  private func write(_ bytes: Data, to path: String) throws {
    if path == "-" { return try StandardStreams.write(Array(bytes)) }
    try bytes.write(to: URL(filePath: path), options: .atomic)
  }

  private func show(_ results: [GetResult]) throws {
    // If standard output receives the bytes, it has no other text.
    if output == "-" { return results.forEach { StandardStreams.note($0.text) } }
    try options.print {
      results.map(\.text).joined(separator: "\n")
    } json: { writer in
      writer.list("resources", results) { $1.write(to: &$0) }
    }
  }
}
