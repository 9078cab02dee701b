import ArgumentParser
import BothyHTTP
import BothyInspector
import BothyStore
import BothySync

/// `bothy sync`: syncs a database with its server.
struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Sends pending changes, pulls new ones, and says what became of each record.",
    discussion: """
      Ends with status 1 when the server could not be reached; nothing is lost then,
      and the report says so. Changes that the server rejects are in the report and
      in `bothy rejected`; they aren't failures of the sync. --watch continues to
      sync after each change here or there until Ctrl-C, a report a line.

      A database belongs to the server and space that it was synced with. Another
      one, or one that lost what it had acknowledged, is refused, and nothing is
      removed until you decide. --adopt takes what that one has: what it lacks is
      removed here. --upload-mine gives it what it lost, and what it has as it was
      before, but nothing that was deleted there. Several devices may do so. Both
      send pending changes and remember the address. --keep-apart leaves the file
      with its first server: it can be read and written, and nothing is sent until
      that one answers again.

      Example:  bothy sync notes.bothy
                bothy sync notes.bothy --scope push --merge fieldByField --json
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: "Which way; by default both.") var scope: SyncDirection?
  @Option(help: ArgumentHelp("Pull only this container and those below it.", valueName: "path"))
  var container: String?
  @Option(help: "How conflicts are decided; by default field by field (fieldByField).") var merge:
    MergeChoice?
  @Option(help: "Behave as an older system did.") var preset: PresetChoice?
  @Flag(help: "Go on syncing until interrupted.") var watch = false
  @Flag(help: "Adopt the server though it is another one, or lacks what it had acknowledged.")
  var adopt = false
  @Flag(help: "Give the server what it lost of this file, and go on with it.") var uploadMine = false
  @Flag(help: "Keep the file as it is, apart from a server that is not its own.") var keepApart = false
  @Flag(help: "Sync even if the app paused it or the server requires a newer app.") var force = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database, configure) { session in
      try session.requireServer()
      if adopt || uploadMine, let address = session.address { try session.store.remember(address) }
      if keepApart {
        try await session.store.maintenance.keepApart()
        return try output.print {
          "The file is kept apart; it is synced with its own server alone."
        } json: {
          $0.member("keptApart", true)
        }
      }
      if watch {
        _ = try await decide(session.store)
        return try await follow(session)
      }
      let report = try await showingProgress(of: session.store) {
        if let decided = try await decide(session.store) { return decided }
        return await session.store.sync(scope, container: container, forced: force)
      }
      try print(report)
      if let reason = report.stop { throw ToolError(try failure(reason, session)) }
    }
  }

  func validate() throws {
    guard [adopt, uploadMine, keepApart].filter(\.self).count < 2 else {
      throw ValidationError("--adopt, --upload-mine and --keep-apart exclude each other. Give one of them.")
    }
  }

  /// Runs the sync that applies a given decision, or returns `nil` without one.
  private func decide(_ store: SyncedStore) async throws -> SyncReport? {
    if adopt { return try await store.maintenance.adoptServer() }
    return uploadMine ? try await store.maintenance.uploadMine() : nil
  }

  private func configure(_ configuration: inout SyncOptions) {
    if let preset { configuration = preset.configuration }
    if let merge { configuration.merging = MergePolicies(default: merge.policy) }
    guard watch else { return }
    if let scope { configuration.direction = scope }
    if let container {
      configuration.runScopes = [SyncScope(container: container, includesChildren: true)]
    }
    configuration.triggers = .default
  }

  private func print(_ report: SyncReport) throws {
    try output.print {
      report.text
    } json: {
      report.writeMembers(to: &$0)
    }
  }

  private func failure(_ reason: SyncStop, _ session: Session) throws -> String {
    let pending = try session.store.pendingCounts().total
    let kept = pending == 0 ? "Nothing is pending." : "Pending changes kept for the next sync: \(pending)."
    return "The sync did not finish: \(reason.message) \(kept)"
  }

  // MARK: watching

  private func follow(_ session: Session) async throws {
    let (store, output) = (session.store, output)
    let reports = store.maintenance.reports
    try await Interrupts.running {
      await withTaskGroup(of: Void.self) { group in
        group.addTask { await store.run() }
        group.addTask { await store.sync() }
        for await report in reports {
          do {
            try output.print {
              report.text
            } json: {
              report.writeMembers(to: &$0)
            }
          } catch { break }  // standard output is closed
          if let reason = report.stop { StandardStreams.note("Not finished: \(reason.message)") }
        }
        group.cancelAll()
      }
    }
  }

  private func showingProgress<Result: Sendable>(
    of store: SyncedStore, _ body: () async throws -> Result
  ) async rethrows -> Result {
    let line = ProgressLine()
    let statuses = store.statuses
    let watcher = Task {
      for await status in statuses {
        guard case .syncing(let progress) = status.phase else { continue }
        line.show("\(progress.pushed) sent, \(progress.pulled) received")
      }
    }
    defer {
      watcher.cancel()
      line.clear()
    }
    return try await body()
  }
}
