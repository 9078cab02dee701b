import BothyStore
import BothySyncService

/// The documents about problems: the overview, and webhooks.
extension OperatorReports {
  /// The totals that the page always shows, and the problem of a database that doesn't answer.
  func overview() async throws -> [UInt8] {
    let servers = await watch.servers
    var spaces: Int?
    var due: Int?
    var longest: Int64?
    var webhooks: [WebhookLine] = []
    var problem: String?
    if let database {
      do {
        spaces = try await recent.spaceCount(database.storage)
        due = try await database.storage.dueCount(at: now(), limit: Self.dueLimit)
        longest = try await longestDue(database.storage)
        webhooks = try await recent.webhooks(database.storage)
      } catch let error as StorageUnavailable {
        problem = error.reason.rawValue
      }
    }
    return object { writer in
      writer.member("databaseProblem", problem)
      writer.member("spaces", spaces)
      writer.member("due", due)
      writer.member("dueSince", longest)
      writer.list("webhooks", webhooks) { Self.write($1, to: &$0) }
      writer.list("disks", database?.files.free ?? []) { writer, disk in
        writer.member("of", disk.place)
        writer.member("free", disk.bytes)
      }
      writer.list("servers", servers) { writer, server in
        Self.write(stateOf: server, to: &writer)
        let lately = server.lately()
        writer.member("latelySince", server.countedSince)
        writer.member(
          "refusedLately",
          server.metrics.map { Refusals.byReason($0).reduce(0) { $0 + (lately[$1.series] ?? 0) } })
        writer.member("failures", server.metrics?.sum("bothy_http_requests_total", ["status": "500"]))
        writer.member("waiting", server.metrics?.sum("bothy_requests_waiting"))
        writer.member("upkeepAge", server.metrics?.sum("bothy_upkeep_age_seconds"))
        writer.list("disabled", Self.switchedOff(server)) { $0.member("webhook", $1) }
      }
    }
  }

  /// Returns the time since which a space is due that is due the longest, or `nil` without one. New spaces don't count,
  /// because they have no such time.
  private func longestDue(_ storage: any ServerReports) async throws -> Int64? {
    let afterNew = SpaceQuery.Mark(number: 0, name: "\u{10FFFF}")
    let first = try await storage.spaces(SpaceQuery(order: .due, after: afterNew, limit: 1)).first?.due
    return first.flatMap { $0 <= now() ? $0 : nil }
  }

  /// Returns the webhooks that a process has switched off.
  private static func switchedOff(_ server: WatchedServer) -> [String] {
    (server.metrics?.all("bothy_webhook_disabled") ?? []).filter { $0.value > 0 }
      .compactMap { $0.labels["webhook"] }
  }

  private static func write(_ line: WebhookLine, to writer: inout JSONWriter) {
    writer.member("webhook", line.name)
    writer.member("spaces", line.spaces)
    writer.member("behind", line.behind)
    writer.member("failing", line.failing)
    writer.member("untouched", line.untouched)
    writer.member("delivered", line.deliveredAt == 0 ? nil : line.deliveredAt)
  }

  /// Writes the progress of a webhook in a space, with the commands that set its place.
  func write(_ state: WebhookState, of webhook: String, to writer: inout JSONWriter) {
    let progress = state.progress
    writer.member("space", state.head.space)
    writer.member("position", progress.position.position)
    writer.member("head", state.head.head.position)
    writer.member("behind", state.isBehind ? state.lag : 0)
    writer.member("failures", progress.failures)
    writer.member("delivered", progress.deliveredAt == 0 ? nil : progress.deliveredAt)
    writer.member("skip", command("webhooks skip", webhook, state.head.space))
    writer.member("rewind", command("webhooks rewind", webhook, state.head.space))
  }

  /// The progress of webhooks in the database, and what the processes say of theirs and of the feed.
  func webhooks() async throws -> [UInt8] {
    let servers = await watch.servers
    let lines = try await database.asyncMap { try await recent.webhooks($0.storage) } ?? []
    return object { writer in
      writer.list("webhooks", lines) { writer, line in
        Self.write(line, to: &writer)
        writer.list("worst", line.worst) { write($1, of: line.name, to: &$0) }
        writer.member("list", command("webhooks list", line.name))
      }
      writer.list("servers", servers) { writer, server in
        Self.write(stateOf: server, to: &writer)
        let names = Set(
          (server.metrics?.all("bothy_webhook_failing_spaces") ?? []).map { $0.labels["webhook"] ?? "" }
        )
        .union(Self.switchedOff(server))
        writer.list("webhooks", names.sorted()) { writer, name in
          let labels = ["webhook": name]
          writer.member("webhook", name)
          writer.member("failing", server.metrics?.sum("bothy_webhook_failing_spaces", labels))
          writer.member("lag", server.metrics?.sum("bothy_webhook_lag_seconds", labels))
          writer.member("changes", server.metrics?.sum("bothy_webhook_changes_total", labels))
          writer.member("meanTime", server.mean("bothy_webhook_delivery_seconds", labels))
          writer.member("disabled", (server.metrics?.sum("bothy_webhook_disabled", labels) ?? 0) > 0)
        }
        writer.list("feed", Self.feed(server)) { writer, sample in
          for name in ["route", "status"] { writer.member(name, sample.labels[name]) }
          writer.member("total", sample.value)
        }
      }
    }
  }

  private static func feed(_ server: WatchedServer) -> [MetricsText.Sample] {
    (server.metrics?.all("bothy_http_requests_total") ?? []).filter {
      $0.labels["route"]?.hasSuffix("/feed") ?? false
    }
  }
}

extension Optional {
  /// Like `map`, for a closure that waits.
  fileprivate func asyncMap<Result>(
    _ body: (Wrapped) async throws -> Result
  ) async rethrows -> Result? {
    guard let self else { return nil }
    return try await body(self)
  }
}
