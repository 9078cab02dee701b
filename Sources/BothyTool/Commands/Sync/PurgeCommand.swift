import ArgumentParser
import BothyStore
import BothySync

/// `bothy purge`: deletes records from this device, not from the server.
struct PurgeCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "purge",
    abstract: "Removes records from this device without telling the server; the next sync brings them back.",
    discussion: """
      Without a type all synced records go, without ids all of the type. What the
      journal has of their content goes too, so `bothy journal restore` can't bring
      it back. Records with pending changes stay as they are and are listed, unless
      --including-pending, which loses those changes.

      Example:  bothy purge notes.bothy Note
      """)

  @OptionGroup var database: DatabaseOptions
  @Argument(help: "The type of the records.") var type: String?
  @Argument(help: "The ids of the records.") var ids: [String] = []
  @Flag(help: "Lose the pending changes too.") var includingPending = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let store = session.store
      let result: StoreMaintenance.Removal
      switch (type, ids.isEmpty) {
      case (nil, _): result = try store.purge(includingPending: includingPending)
      case (let type?, true):
        _ = try session.type(type)
        result = try store.purge(type: type, includingPending: includingPending)
      case (let type?, false):
        _ = try session.type(type)
        result = try store.purge(
          ids.map { RecordID(type: type, id: $0) }, includingPending: includingPending)
      }
      try output.print {
        let kept = result.kept.map { "Kept, because it is pending: \($0)" }
        return (["Removed \(result.removed) records from this device."] + kept).joined(separator: "\n")
      } json: { writer in
        writer.member("removed", result.removed)
        writer.list("kept", result.kept) { $0.members($1) }
      }
    }
  }
}

/// `bothy reset`: empties this device's copy.
struct ResetCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "reset",
    abstract: "Removes all synced records from this device; the next sync brings everything again.",
    discussion: """
      The journal and the log of past syncs go too, so `bothy journal restore` has
      nothing left. Refuses while anything is pending, unless --discard-pending,
      which loses those changes.

      Example:  bothy reset notes.bothy
      """)

  @OptionGroup var database: DatabaseOptions
  @Flag(help: "Lose the pending changes.") var discardPending = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let pending = try session.store.pendingCounts().total
      do { try await session.store.maintenance.reset(discardingPending: discardPending) } catch let error
        as BothyError
        where error.code == .pendingChanges
      {
        throw ToolError(
          "Changes that are not on the server: \(pending). A reset loses them. `bothy sync` sends them, and drafts once "
            + "they are released (`bothy release`); --discard-pending loses them.")
      }
      try output.print {
        "Emptied. Pending changes discarded: \(pending)."
      } json: { writer in
        writer.member("reset", true)
        writer.member("discarded", pending)
      }
    }
  }
}
