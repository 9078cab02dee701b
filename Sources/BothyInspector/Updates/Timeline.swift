import BothyStore
import BothySync
import Synchronization

/// The observed moments of syncing while the inspector ran. Memory has the last few hundred of them. The ends of
/// earlier syncs are in the file (see `PastSyncs`).
final class Timeline: Sendable {
  struct Moment: Sendable, Equatable {
    enum Kind: String, Sendable {
      case began, written, acknowledged, rejected, pulled, decided, synced, lease, server
    }

    var time: Int64
    var kind: Kind
    var text: String
    var details: [String] = []

    func write(to writer: inout JSONWriter) {
      writer.member("time", time)
      writer.member("kind", kind.rawValue)
      writer.member("text", text)
      writer.names("details", details)
    }
  }

  static let limit = 400
  private let moments = Mutex<[Moment]>([])

  func add(_ new: [Moment]) {
    moments.withLock { moments in
      moments += new
      if moments.count > Self.limit { moments.removeFirst(moments.count - Self.limit) }
    }
  }

  /// All moments, newest first.
  var all: [Moment] { moments.withLock { $0.reversed() } }
}

/// The ends of syncs of all processes, from the newest rows of the file's log.
struct PastSyncs {
  let runs: [StoreMaintenance.SyncRun]
  /// True if the file has older ones.
  let hasMore: Bool

  init(_ store: SyncedStore, limit: Int) async throws {
    let found = try await store.maintenance.syncRuns(limit: limit + 1)
    runs = Array(found.prefix(limit))
    hasMore = found.count > limit
  }

  func write(to writer: inout JSONWriter) {
    writer.list("syncs", runs) { writer, run in
      writer.member("id", run.id)
      run.writeMembers(to: &writer)
    }
    writer.member("moreSyncs", hasMore)
  }
}

/// The state of syncing at one moment, which a timeline compares.
struct Glance: Sendable, Equatable {
  /// The number of pending changes, and the number of rejected ones among them.
  var pending = 0
  var rejected = 0
  /// The time of each container's last pull, or `nil` before the first complete pull.
  var pulled: [SyncScope: Int64?] = [:]
  /// The process that syncs.
  var syncing: Int32?

  init() {}

  init(_ store: SyncedStore) throws {
    let counts = try store.pendingCounts()
    (pending, rejected) = (counts.total, counts.rejected)
    for container in try store.containers() { pulled[container.scope] = container.pulledAt }
    syncing = try store.leaseHolder()?.process
  }

  /// Returns the moments between two states, with the given time. Returns none if nothing about syncing changed.
  func moments(since old: Glance, at time: Int64) -> [Timeline.Moment] {
    var moments: [Timeline.Moment] = []
    func tell(_ kind: Timeline.Moment.Kind, _ text: String) {
      moments.append(Timeline.Moment(time: time, kind: kind, text: text))
    }
    if let syncing, syncing != old.syncing { tell(.lease, "Process \(syncing) syncs this file.") }
    let scopes = pulled.keys.sorted { $0.container < $1.container }
    for scope in scopes where pulled[scope] != old.pulled[scope] && (pulled[scope] ?? nil) != nil {
      let name = scope.container.isEmpty ? "Everything" : "'\(scope.container)'"
      tell(.pulled, "\(name) was pulled to its end.")
    }
    let newlyRejected = rejected - old.rejected
    if newlyRejected > 0 { tell(.rejected, "\(Self.changes(newlyRejected)) rejected by the server.") }
    let more = pending - old.pending
    if more > 0 { tell(.written, "\(Self.changes(more)) to be sent, \(pending) in all.") }
    if more < 0 { tell(.acknowledged, "\(Self.changes(-more)) settled, \(pending) still pending.") }
    return moments
  }

  private static func changes(_ count: Int) -> String { count == 1 ? "1 change" : "\(count) changes" }
}

extension Timeline.Moment {
  /// Creates the moment of a sync that was run from the page.
  init(_ report: SyncReport, at time: Int64) {
    self.init(
      time: time, kind: .synced,
      text: report.stop.map { "The sync ended early. \($0.sentence)" }
        ?? "Synced: \(report.pushed) sent, \(report.pulled) received.",
      details: report.rejected.map { "Rejected: \($0.operation.rawValue) of \($0.record). \($0.message)" }
        + report.overwritten.map { "Replaced by the server's: \($0.record)" }
        + report.blocked.map { "\($0.record) waits for \($0.by)" })
  }
}
