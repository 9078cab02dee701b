import ArgumentParser
import BothyServer
import BothyStore
import BothySync
import BothySyncService
import Foundation

/// `bothy admin epoch`: reports to devices that the server's history was replaced.
struct EpochCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "epoch", abstract: "Begins a new history after a restore.",
    discussion: "Example:  bothy admin epoch bump --database server.sqlite --all",
    subcommands: [BumpEpochCommand.self])
}

struct BumpEpochCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "bump",
    abstract: "Says that spaces were restored, so that every device compares what it has with them.",
    discussion: """
      Do it after each restore, before the server starts. Devices then take the
      restored state for what it is, keep what they have not sent yet, and send it.
      Without it a device that knew more than the backup may go on from changes that
      no longer exist.

      Example:  bothy admin epoch bump --database server.sqlite --all
                bothy admin epoch bump --database server.sqlite home club
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The spaces.") var spaces: [String] = []
  @Flag(help: "All spaces.") var all = false
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard spaces.isEmpty == all else { throw ValidationError("Name spaces, or give --all.") }
  }

  func run() async throws {
    try await AdminSession.with(served) { session in
      var found: [SpaceStatistics] = []
      for space in try await session.spaces(spaces) {
        try await session.storage.startEpoch(space: space)
        found.append(try await session.storage.statistics(of: space))
      }
      try output.print {
        "Spaces with a new history: \(found.count). Devices compare and rebase at their next sync."
      } json: { writer in
        writer.list("spaces", found) { writer, space in
          writer.member("space", space.space)
          writer.member("epoch", space.epoch)
          writer.member("head", space.head)
        }
      }
    }
  }
}

/// `bothy admin verify`: verifies and counts the contents of a server.
struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify", abstract: "Reads everything, checks it, and prints a digest of each space.",
    discussion: """
      Every record has to be readable, and every blob that a record names has to be
      there with its own checksum. A damaged blob is quarantined (folder `damaged`).
      The devices are then asked for missing blobs: each that holds such a blob sends
      it with its next sync. Equal digests mean equal records: compare a backup with
      its server, or with what `bothy digest --remote` prints for a user who may see
      everything.

      Example:  bothy admin verify --database monday.sqlite
                bothy admin verify --database server.sqlite home \\
                  --expect 5b0c5d1ff6b1e1a2
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "Only these spaces.") var spaces: [String] = []
  @Flag(help: "Look only whether the blobs are there, and don't read their bytes.") var quick = false
  @Option(help: ArgumentHelp("The digest that the one space has to have.", valueName: "digest"))
  var expect: String?
  @OptionGroup var output: OutputOptions

  func validate() throws {
    guard expect == nil || spaces.count == 1 else { throw ValidationError("--expect needs one space.") }
  }

  private struct Found {
    var space: String
    var digest: ScopeDigest
    var missing: [String]
    var damaged: [String]
  }

  func run() async throws {
    if served.blobPlace == nil {
      StandardStreams.note("Blobs are not looked for: give --blobs, their folder or bucket.")
    }
    try await AdminSession.with(served) { session in
      var found: [Found] = []
      for space in try await session.spaces(spaces) {
        let check = try await session.service.verify(space: space, readsBlobs: !quick)
        found.append(
          Found(
            space: space, digest: check.digest, missing: check.missingBlobs, damaged: check.damagedBlobs))
      }
      let missing = found.reduce(0) { $0 + $1.missing.count }
      let damaged = found.reduce(0) { $0 + $1.damaged.count }
      let differs = expect.map { $0 != found.first?.digest.digest } ?? false
      try output.print {
        var table = TextTable(["space", "records", "digest", "position", "blobs missing", "blobs damaged"])
        for entry in found {
          table.add([
            entry.space, "\(entry.digest.count)", entry.digest.digest, "\(entry.digest.position ?? 0)",
            "\(entry.missing.count)", "\(entry.damaged.count)",
          ])
        }
        return table.text(empty: "No spaces.")
      } json: { writer in
        writer.member("healthy", missing == 0 && !differs)
        writer.list("spaces", found) { writer, entry in
          writer.member("space", entry.space)
          writer.member("count", entry.digest.count)
          writer.member("digest", entry.digest.digest)
          writer.member("position", entry.digest.position)
          writer.names("missingBlobs", entry.missing)
          writer.names("damagedBlobs", entry.damaged)
        }
      }
      if differs { throw ToolError("\(spaces[0]) has another digest than \(expect ?? "").") }
      if missing > 0 {
        throw ToolError(
          "\(missing) blobs that records name are not there, \(damaged) of them because they were damaged. Bring the "
            + "blobs of \(served.blobPlace ?? "") back, or let the devices sync, which were asked for them."
        )
      }
    }
  }
}

/// `bothy admin compact`: runs the server's upkeep of spaces now, whether they are due or not.
struct CompactCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "compact",
    abstract: "Forgets tombstones and outcomes and removes unused blobs, by their age.",
    discussion: """
      A server does this by itself, for a space in which something changed or became
      old enough. A device that was away for longer than tombstones are kept starts
      over at its next sync and keeps its unsynced edits.

      Example:  bothy admin compact --database server.sqlite --keep-tombstones 30d
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "Only these spaces.") var spaces: [String] = []
  @OptionGroup var keeping: RetentionOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    var bounds = ServerBounds()
    try keeping.set(&bounds)
    let terms = bounds.retention.bounded
    try await AdminSession.with(served) { session in
      var found: [(space: String, report: RetentionReport)] = []
      for space in try await session.spaces(spaces) {
        found.append((space, try await session.service.upkeep(space: space, terms)))
      }
      try output.print {
        var table = TextTable(["space", "floor", "blobs removed", "outcomes forgotten"])
        for (space, report) in found {
          let floor = report.floor.map(String.init) ?? "as it was"
          table.add([space, floor, "\(report.blobs)", "\(report.outcomes)"])
        }
        return table.text(empty: "No spaces.")
      } json: { writer in
        writer.list("spaces", found) { writer, entry in
          writer.member("space", entry.space)
          writer.member("floor", entry.report.floor)
          writer.member("blobs", entry.report.blobs)
          writer.member("outcomes", entry.report.outcomes)
        }
      }
    }
  }
}

/// `bothy admin backup`: copies the database at one moment.
struct BackupCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "backup", abstract: "Copies the database as it is at one moment, while the server runs.",
    discussion: """
      Then copy the folders PATH-blobs and PATH-secrets, where they are there: blobs
      are never changed, only added and, long after their records, removed. To
      restore: stop the server, put the copy in the database's place (with no -wal
      and -shm beside it) and the folders in theirs, and run
      `bothy admin epoch bump --all`.

      Example:  bothy admin backup --database server.sqlite monday.sqlite
      """)

  @OptionGroup var served: ServedOptions
  @Argument(help: "The new file.", completion: .file()) var file: String
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await AdminSession.with(served) { session in
      guard let backup = session.backup else {
        throw ToolError("PostgreSQL is backed up with its own tools, such as pg_dump --schema bothy.")
      }
      guard try PrivateFile.create(at: file) else {
        throw ToolError("\(file) is there already. Give the name of a new file.")
      }
      do { try await backup(file) } catch {
        PrivateFile.remove(file)
        throw error
      }
      let spaces = try await session.storage.spaces().count
      try output.print {
        "Copied \(spaces) spaces to \(file)."
      } json: { writer in
        writer.member("file", file)
        writer.member("spaces", spaces)
      }
    }
  }
}
