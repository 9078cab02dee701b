import ArgumentParser
import BothyStore
import BothySync

/// `bothy sync`: brings a database and its server into agreement.
struct SyncCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "sync",
    abstract: "Sends what is pending, pulls what is new, and says what became of each record.",
    discussion: """
      Ends with status 1 when the server could not be reached; nothing is lost then,
      and the report says so. Changes that the server refuses are in the report and
      in `bothy inbox`; they are no failure of the sync. --watch goes on syncing
      after each change here or there until Ctrl-C, a report a line.

      A database belongs to the server and space that it was synced with. Another
      one, or one that lost what it had acknowledged, is refused, and nothing is
      removed; --adopt takes what that one has, sends what is pending, and remembers
      its address.

      Example:  bothy sync notes.bothy
                bothy sync notes.bothy --scope push --merge fieldMerge --json
      """)

  @OptionGroup var database: DatabaseOptions
  @Option(help: "Which way; by default both.") var scope: SyncScope?
  @Option(help: ArgumentHelp("Pull only this container and those below it.", valueName: "path"))
  var container: String?
  @Option(help: "How conflicts are decided; by default field by field (fieldMerge).") var merge: MergeChoice?
  @Option(help: "Behave as an older system did.") var preset: PresetChoice?
  @Flag(help: "Go on syncing until interrupted.") var watch = false
  @Flag(help: "Adopt the server though it is another one, or lacks what it had acknowledged.")
  var adopt = false
  @Flag(help: "Sync even if the app paused it or the server asked for a newer app.") var force = false
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database, configure) { session in
      try session.requireServer()
      if adopt, let address = session.address { try session.store.remember(address) }
      if watch {
        if adopt { try await session.store.adoptServer() }
        return try await follow(session)
      }
      let report = try await showingProgress(of: session.store) {
        if adopt { return try await session.store.adoptServer() }
        return await session.store.sync(scope, container: container, forced: force)
      }
      try print(report)
      if let reason = report.skipped { throw ToolError(try failure(reason, session)) }
    }
  }

  private func configure(_ configuration: inout SyncConfiguration) {
    if let preset { configuration = preset.configuration }
    if let merge { configuration.mergePolicies = MergePolicies(merge.policy) }
    guard watch else { return }
    if let scope { configuration.scope = scope }
    if let container {
      configuration.runScopes = [PullScope(container: container, includesChildren: true)]
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

  private func failure(_ reason: SkipReason, _ session: Session) throws -> String {
    let pending = try session.store.pendingCounts().total
    let kept = pending == 0 ? "Nothing is pending." : "\(pending) pending changes are kept for the next sync."
    return "The sync did not finish: \(reason.message) \(kept)"
  }

  // MARK: watching

  private func follow(_ session: Session) async throws {
    let (store, output) = (session.store, output)
    let reports = store.reports
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
          } catch { break }  // nobody reads any more
          if let reason = report.skipped { Standard.note("Not finished: \(reason.message)") }
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
