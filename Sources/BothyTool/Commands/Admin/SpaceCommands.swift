import ArgumentParser
import BothyStore
import BothySync
import BothySyncService

/// `bothy admin spaces`: lists the spaces with their contents.
struct SpacesCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "spaces", abstract: "Lists the spaces with what they hold.",
    discussion: "Example:  bothy admin spaces --database server.sqlite")

  @OptionGroup var served: ServedOptions
  @Argument(help: "Only these spaces.") var spaces: [String] = []
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      var found: [(space: SpaceStatistics, blobs: [String: Int64])] = []
      for space in try await session.spaces(spaces) {
        found.append(
          (try await session.storage.statistics(of: space), try await session.keptBlobs(in: space)))
      }
      try output.print {
        var table = TextTable(
          ["space", "records", "tombstones", "containers", "bytes", "blobs", "blob bytes", "devices", "head"])
        for (space, blobs) in found {
          table.add([
            space.space, space.shown(space.records), space.shown(space.tombstones),
            space.shown(space.containers), space.shown(space.bytes), "\(blobs.count)",
            "\(blobs.values.reduce(0, +))", space.shown(space.devices), "\(space.head)",
          ])
        }
        return table.text(empty: "No spaces.")
      } json: { writer in
        writer.list("spaces", found) { $0.members($1.space, $1.blobs) }
      }
    }
  }
}

extension SpaceStatistics {
  /// Returns the text of a number that was counted.
  fileprivate func shown(_ number: some BinaryInteger) -> String {
    isPartial ? "at least \(number)" : "\(number)"
  }
}

extension JSONWriter {
  fileprivate mutating func members(_ space: SpaceStatistics, _ blobs: [String: Int64]) {
    member("space", space.space)
    member("epoch", space.epoch)
    member("head", space.head)
    member("floor", space.floor)
    member("records", space.records)
    member("tombstones", space.tombstones)
    member("containers", space.containers)
    member("bytes", space.bytes)
    member("outcomes", space.outcomes)
    member("devices", space.devices)
    member("partial", space.isPartial)
    member("blobs", blobs.count)
    member("blobBytes", blobs.values.reduce(0, +))
  }
}

/// `bothy admin stats`: totals all spaces.
struct StatsCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "stats", abstract: "Counts what all spaces hold together.",
    discussion: "Example:  bothy admin stats --database server.sqlite")

  @OptionGroup var served: ServedOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      var total = SpaceStatistics(space: "", epoch: "", head: 0, floor: 0)
      let spaces = try await session.storage.spaces()
      var (blobs, blobBytes) = (0, Int64(0))
      for name in spaces {
        let space = try await session.storage.statistics(of: name)
        total.records += space.records
        total.tombstones += space.tombstones
        total.bytes += space.bytes
        total.outcomes += space.outcomes
        total.devices += space.devices
        if space.isPartial { total.isPartial = true }
        let kept = try await session.keptBlobs(in: name)
        blobs += kept.count
        blobBytes += kept.values.reduce(0, +)
      }
      let whole: Set = ["spaces", "blobs", "blobBytes"]
      let rows: [(name: String, shown: String, value: Int64)] = [
        ("spaces", "spaces", Int64(spaces.count)), ("records", "records", Int64(total.records)),
        ("tombstones", "tombstones", Int64(total.tombstones)), ("bytes", "bytes of records", total.bytes),
        ("blobs", "blobs", Int64(blobs)), ("blobBytes", "bytes of blobs", blobBytes),
        ("devices", "devices", Int64(total.devices)),
        ("outcomes", "remembered operations", Int64(total.outcomes)),
      ]
      try output.print {
        var table = TextTable(["", "number"])
        for row in rows {
          table.add([row.shown, whole.contains(row.name) ? "\(row.value)" : total.shown(row.value)])
        }
        return table.text(empty: "")
      } json: { writer in
        for row in rows { writer.member(row.name, row.value) }
        writer.member("partial", total.isPartial)
      }
    }
  }
}

/// `bothy admin remove-space`: permanently deletes a space and everything that belongs to it.
struct RemoveSpaceCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "remove-space",
    abstract: "Removes a space with its records, lists, blobs and secrets, for good.",
    discussion: """
      Devices that still follow it start over with nothing, and send what they had
      not sent yet. Take their tokens back first. A removal that was broken off has
      removed a part, and is completed when the command is run again.

      Example:  bothy admin remove-space --database server.sqlite home --confirm home
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The space.") var space: String
  @Option(help: ArgumentHelp("The space's name again.", valueName: "name")) var confirm: String
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard confirm == space else { throw ValidationError("--confirm has to be the space's name: \(space)") }
  }

  func run() async throws {
    try await AdminSession.with(served) { session in
      // A removal that was broken off may have left blobs and secrets of a space that is gone.
      if try await !session.hasRemains(of: space) { _ = try await session.spaces([space]) }
      // A removal doesn't fail because a slow database has no time to count.
      let held = try? await session.storage.statistics(of: space)
      // Runs before the name is deleted: the names of spaces separate the secrets of an earlier version.
      try session.secrets?.adopt(spaces: await session.storage.spaces())
      try await session.storage.remove(space: space)
      try session.secrets?.remove(space: space)
      try await session.blobs?.remove(space: space)
      try output.print {
        "Removed \(space)\(held.map { " with \($0.shown($0.records)) records" } ?? "")."
      } json: { writer in
        writer.member("removed", space)
        if let held {
          writer.member("records", held.records)
          writer.member("partial", held.isPartial)
        }
      }
    }
  }
}

/// `bothy admin principals`: lists the users with data in a space.
struct UsersCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "principals", abstract: "Lists who owns records of a space or is in its lists.",
    discussion: """
      Who may enter is in the tokens file, or in what issues JSON Web Tokens.

      Example:  bothy admin principals --database server.sqlite home
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The space.") var space: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      _ = try await session.spaces([space])
      let found = try await session.storage.users(of: space)
      let isPartial = try await session.storage.statistics(of: space).isPartial
      if isPartial {
        StandardStreams.note(
          "The space is too large to read. These are the users of a million of its records.")
      }
      try output.print {
        var table = TextTable(["user", "records", "lists"])
        for entry in found { table.add([entry.user, "\(entry.records)", "\(entry.lists)"]) }
        return table.text(empty: "Nobody.")
      } json: { writer in
        writer.member("partial", isPartial)
        writer.list("principals", found) { writer, entry in
          writer.member("principal", entry.user)
          writer.member("records", entry.records)
          writer.member("lists", entry.lists)
        }
      }
    }
  }
}
