import ArgumentParser
import BothyHTTP
import BothyInspector
import BothyStore
import BothySync

/// `bothy status`: reports pending changes, the sync status, the state of each container, and if the server responds.
struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status",
    abstract:
      "Prints how much is pending, how the last syncs ended, how far each container was pulled, and whether the server answers.",
    discussion: """
      Covers the syncs of every process that has the file open, the app's among
      them: when one last ended well, and if later ones did not, why, since when,
      and what can be done.

      Example:  bothy status notes.bothy --json
      """)

  @OptionGroup var database: DatabaseOptions
  @OptionGroup var output: OutputOptions

  func run() async throws {
    try await Session.with(database) { session in
      let counts = try session.store.pendingCounts()
      let unanswered = try session.store.unansweredSaves().count
      let blobs = try session.store.blobs.backlog()
      let containers = try session.store.containers()
      let health = try session.store.syncHealth()
      let isPaused = try session.store.isPausedInFile()
      let reachable = await session.connection.isReachable()
      let problem = reachable == true ? await session.store.serverProblem() : nil
      try output.print {
        text(counts, unanswered, blobs, health, isPaused, containers, session.address, reachable, problem)
      } json: { writer in
        writer.object("pending") { counts.writeMembers(to: &$0) }
        writer.member("rejected", counts.rejected)
        writer.member("drafts", counts.drafts)
        writer.member("unanswered", unanswered)
        writer.object("blobs") { blobs.writeMembers(to: &$0) }
        health.writeMembers(to: &writer)
        writer.member("paused", isPaused)
        writer.list("containers", containers) { $1.writeMembers(to: &$0) }
        writer.member("reachable", reachable)
        writer.member("serverProblem", problem?.name)
      }
    }
  }

  private func text(
    _ counts: Outbox.Counts, _ unanswered: Int, _ blobs: BlobStorage.Backlog, _ health: SyncHealth,
    _ isPaused: Bool, _ containers: [StoreSubscriptions.ScopeStatus], _ address: RemoteAddress?,
    _ reachable: Bool?, _ problem: SyncStop?
  ) -> String {
    var lines = [
      "Pending: \(counts.insert) new, \(counts.update) changed, \(counts.delete) deleted"
        + " (\(counts.rejected) rejected, \(counts.drafts) in draft)"
    ]
    if unanswered > 0 {
      lines.append("Unsure:  \(unanswered) without an answer, which the server may have (bothy outbox)")
    }
    if blobs.count > 0 {
      lines.append("Blobs:   \(blobs.count) to upload, \(blobs.sent) of \(blobs.bytes) bytes are there")
    }
    lines.append(
      "Synced:  " + (health.lastEndedWell.map { Timestamp(milliseconds: $0).rfc3339 } ?? "never"))
    if let failing = health.failing { lines.append("Failing: \(failing.text)") }
    if isPaused { lines.append("Paused:  nothing is sent until the app resumes, or with bothy sync --force") }
    for container in containers {
      let name = container.scope.container.isEmpty ? "everything" : container.scope.container
      let when = container.pulledAt.map { Timestamp(milliseconds: $0).rfc3339 } ?? "never completely"
      lines.append("Pulled:  \(name), \(when)")
    }
    let state = reachable.map { $0 ? "answers" : "does not answer" }
    lines.append("Server:  " + (address.map { "\($0) \(state ?? "was not asked")" } ?? "none"))
    if let problem { lines.append("         but \(problem.name): \(problem.message)") }
    return lines.joined(separator: "\n")
  }
}
